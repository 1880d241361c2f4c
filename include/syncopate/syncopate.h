/* The whole public interface of libsyncopate in one include. */
#ifndef SYNCOPATE_SYNCOPATE_H
#define SYNCOPATE_SYNCOPATE_H

#include <syncopate/version.h>

#include <syncopate/status.h>

#include <syncopate/log.h>

#include <syncopate/settings.h>

#include <syncopate/text.h>

#include <syncopate/layout.h>

#include <syncopate/group.h>

#include <syncopate/reducer.h>

#include <syncopate/optimizer.h>

#include <syncopate/archive.h>

#include <syncopate/worker.h>

#include <syncopate/recipe.h>

#include <syncopate/parts.h>

#include <syncopate/measure.h>

#include <syncopate/simulate.h>

#include <syncopate/random.h>

#endif
