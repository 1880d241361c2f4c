"""scripts/check-layers finds each kind of include that breaks the order of layers."""
import unittest

from project import ProjectTest

TOOL = "check-layers"


class Layers(ProjectTest):
    def setUp(self):
        super().setUp()
        self.write("include/syncopate/status.h", "enum syn_status { SYN_OK };\n")
        self.write("include/syncopate/engine/model.h", "#include <syncopate/status.h>\n")
        self.write("src/base/status.h", "#include <syncopate/status.h>\n#include <stdio.h>\n")
        self.write("src/tensor/sparse.h", '#include "base/status.h"\n')
        self.write("src/select/select.h", '#include "tensor/sparse.h"\n')
        self.write("src/codec/codec.h", '#include "tensor/sparse.h"\n')
        self.write("engine/nn/layer.h", "#include <syncopate/engine/model.h>\n")
        self.write("engine/nn/onednn_v3.c", "#include <oneapi/dnnl/dnnl.h>\n")
        self.write("apps/syncopate/command.h", "#include <syncopate/engine/model.h>\n")

    def test_the_right_order_is_accepted(self):
        self.write("src/exchange/ring.c", '#include "select/select.h"\n#include "codec/codec.h"\n')
        self.write("src/transport/mpi.c", '#include <mpi.h>\n#include "base/status.h"\n')
        self.write("src/tensor/avx2.c", '#include <immintrin.h>\n#include "sparse.h"\n')
        self.write("engine/train/run.c", '#include "engine/nn/layer.h"\n')
        self.write("apps/syncopate/main.c", '#include "command.h"\n')
        self.assert_clean(TOOL)

    def test_a_layer_does_not_include_one_above_it(self):
        self.write("src/base/log.c", '#include <stdio.h>\n\n#include "tensor/sparse.h"\n')
        self.assert_found(TOOL, 'src/base/log.c:3: "tensor/sparse.h": src/tensor is above src/base')

    def test_angle_brackets_do_not_hide_a_layer(self):
        self.write("src/base/log.c", "#include <tensor/sparse.h>\n")
        self.assert_found(TOOL, 'src/base/log.c:1: "tensor/sparse.h": src/tensor is above')

    def test_a_way_round_through_the_parent_folder_is_seen(self):
        self.write("src/base/log.c", '#  include "../tensor/sparse.h"\n')
        self.assert_found(TOOL, 'src/base/log.c:1: "../tensor/sparse.h": src/tensor is above')

    def test_layers_side_by_side_do_not_see_each_other(self):
        self.write("src/select/topk.c", '#include "codec/codec.h"\n')
        self.assert_found(TOOL, "src/select/topk.c:1: \"codec/codec.h\": src/select and src/codec are")

    def test_workers_see_servers_and_not_the_other_way_round(self):
        self.write("src/server/server.h", "int x;\n")
        self.write("src/worker/serve.c", '#include "server/server.h"\n')
        self.assert_clean(TOOL)
        self.write("src/worker/store.h", "int y;\n")
        self.write("src/server/server.c", '#include "worker/store.h"\n')
        self.assert_found(TOOL, 'src/server/server.c:1: "worker/store.h": src/worker is above src/server')

    def test_the_inside_of_a_folder_is_its_own(self):
        self.write("src/reducer/inside.h", "int x;\n")
        self.write("src/reducer/wait.c", '#include "reducer/inside.h"\n')
        self.write("src/worker/worker.c", '#include "reducer/inside.h"\n')
        self.assert_found(TOOL, 'src/worker/worker.c:1: "reducer/inside.h" is internal to src/reducer')

    def test_a_folder_without_a_place_is_refused(self):
        self.write("src/helpers/string.c", "int x;\n")
        self.assert_found(TOOL, "src/helpers/string.c:1: src/helpers has no place")

    def test_the_core_does_not_know_the_engine(self):
        self.write("src/reducer/reducer.c", "#include <syncopate/engine/model.h>\n")
        self.write("include/syncopate/all.h", "#include <syncopate/engine/model.h>\n")
        self.assert_found(TOOL, "include/syncopate/all.h:1: ", "src/reducer/reducer.c:1: ")

    def test_mpi_is_in_one_file_only(self):
        self.write("src/transport/mpi.c", "#include <mpi.h>\n")
        self.write("src/transport/other.c", "int x;\n#include <mpi.h>\n")
        self.assert_found(TOOL, "src/transport/other.c:2: <mpi.h> is included by src/transport/mpi.c")

    def test_mpi_stays_in_its_folder(self):
        for path in ("src/worker/worker.c", "engine/train/run.c", "apps/syncopate/main.c",
                     "include/syncopate/group.h"):
            with self.subTest(path):
                self.setUp()
                self.write(path, "#include <mpi.h>\n")
                self.assert_found(TOOL, f"{path}:1: <mpi.h>: MPI is for src/transport/* only")

    def test_onednn_stays_in_its_files_and_out_of_the_layers(self):
        self.write("engine/train/run.c", "#include <dnnl.h>\n#include <oneapi/dnnl/dnnl.h>\n")
        self.write("engine/nn/layers/pooling.c", "#include <oneapi/dnnl/dnnl.h>\n")
        self.assert_found(TOOL, "engine/nn/layers/pooling.c:1: <oneapi/dnnl/dnnl.h>: oneDNN",
                          "engine/train/run.c:1: <dnnl.h>: oneDNN is for engine/nn/onednn* only",
                          "engine/train/run.c:2: <oneapi/dnnl/dnnl.h>: oneDNN")

    def test_intrinsics_stay_in_their_folder(self):
        self.write("src/select/topk.c", '#include <immintrin.h>\n#include "arm_neon.h"\n')
        self.assert_found(TOOL, "src/select/topk.c:1: <immintrin.h>: intrinsics are for src/tensor/* only",
                          "src/select/topk.c:2: <arm_neon.h>: intrinsics are")

    def test_clients_see_public_headers_only(self):
        for path in ("engine/train/run.c", "apps/syncopate/main.c", "examples/quadratic.c"):
            with self.subTest(path):
                self.setUp()
                self.write(path, '#include "base/status.h"\n#include "src/base/status.h"\n')
                self.assert_found(TOOL, f'{path}:1: "base/status.h" is private to src/base',
                                  f'{path}:2: "src/base/status.h" is private to src/base')

    def test_the_command_does_not_see_inside_the_engine(self):
        self.write("apps/syncopate/main.c", '#include "engine/nn/layer.h"\n')
        self.assert_found(TOOL, 'apps/syncopate/main.c:1: "engine/nn/layer.h" is private to engine')

    def test_the_folders_of_training_see_each_other_in_order(self):
        self.write("engine/train/replica/replica.h", '#include "engine/train/replica/update.h"\n')
        self.write("engine/train/replica/update.h", "int x;\n")
        self.write("engine/train/loop/loop.h", '#include "engine/train/replica/replica.h"\n')
        self.write("engine/train/train.c", '#include "engine/train/loop/loop.h"\n')
        self.assert_clean(TOOL)
        self.write("engine/train/replica/update.c", '#include "engine/train/loop/loop.h"\n')
        self.assert_found(TOOL, 'engine/train/replica/update.c:1: "engine/train/loop/loop.h": engine/train/loop '
                                'is not below engine/train/replica')

    def test_the_folders_of_training_see_one_header_of_each_other(self):
        self.write("engine/train/replica/update.h", "int x;\n")
        self.write("engine/train/loop/loop.c", '#include "engine/train/replica/update.h"\n')
        self.assert_found(TOOL, 'engine/train/loop/loop.c:1: "engine/train/replica/update.h" is private to '
                                'engine/train/replica')

    def test_a_folder_of_training_has_a_place(self):
        self.write("engine/train/helpers/string.c", "int x;\n")
        self.assert_found(TOOL, "engine/train/helpers/string.c:1: engine/train/helpers has no place")

    def test_data_and_models_do_not_see_training(self):
        self.write("engine/train/loop/loop.h", "int x;\n")
        self.write("engine/nn/layer.c", '#include "engine/train/loop/loop.h"\n')
        self.assert_found(TOOL, 'engine/nn/layer.c:1: "engine/train/loop/loop.h": engine/train is above')

    def test_the_core_does_not_see_the_command(self):
        self.write("src/worker/worker.c", '#include "../../apps/syncopate/command.h"\n')
        self.assert_found(TOOL, "src/worker/worker.c:1: ")

    def test_a_public_header_includes_no_private_one(self):
        self.write("include/syncopate/group.h", '#include "base/status.h"\n')
        self.assert_found(TOOL, 'include/syncopate/group.h:1: a public header includes the private')

    def test_row_lists_are_checked_too(self):
        self.write("src/base/rows.def", '#include "tensor/sparse.h"\n')
        self.assert_found(TOOL, "src/base/rows.def:1: ")

    def test_a_name_made_by_a_macro_is_refused(self):
        self.write("src/base/log.c", "#define WHERE <stdio.h>\n#include WHERE\n")
        self.assert_found(TOOL, "src/base/log.c:2: an include whose name comes from a macro")

    def test_includes_in_comments_do_not_count(self):
        self.write("src/base/log.h", '/*\n * #include "tensor/sparse.h"\n// #include "tensor/sparse.h"\n*/\n')
        self.assert_clean(TOOL)


if __name__ == "__main__":
    unittest.main()
