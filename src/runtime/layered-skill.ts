import { reasonOf } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import type { ApprovalSettings } from '../core/route.ts'
import type { Middleware, MiddlewareLayer, Skill, SkillContext, SkillOrigin } from '../core/skill.ts'
import { byCodeUnits } from '../lib/by-code-units.ts'
import { inOneLine } from './parse-settings.ts'

/** A skill inside its enabled layers of middleware, outermost first. */
export type LayeredSkill = ReturnType<typeof createLayeredSkill>

/**
 * Wraps a skill in the middleware that its metadata enables or that always applies. Throws if a
 * middleware rejects its settings.
 */
export function createLayeredSkill(skill: Skill, middleware: readonly Middleware[], origin: SkillOrigin) {
  const metadata = skill.metadata ?? {}
  const applied = middleware
    .filter((one) => one.always || Object.hasOwn(metadata, one.name))
    .toSorted((a, b) => a.order - b.order || byCodeUnits(a.name, b.name))
    .flatMap(({ name, order, description, setup }) => {
      const settings = Object.hasOwn(metadata, name) ? metadata[name] : undefined
      try {
        const layer = setup(settings, skill, origin)
        return layer ? [{ layer, info: { name, order, description, settings } }] : []
      } catch (error) {
        throw new Error(`metadata.${name}: ${reasonOf(error)}`, { cause: error })
      }
    })
  const core = async (ctx: SkillContext) => {
    const returned = await skill.run(ctx)
    if (returned !== undefined) ctx.locals.result = returned
    const checked = skill.output?.safeParse(ctx.locals.result)
    if (checked?.error)
      throw new Error(`its result does not match its \`output\`: ${inOneLine(checked.error)}`)
    return ctx.locals.result
  }
  let run: Run = core
  for (const { layer } of applied.toReversed()) run = withLayer(layer, run)
  return {
    skill,
    origin,
    layers: applied.map(({ info }) => info),
    /** Runs the layers and the skill. The result is also in `ctx.locals.result`. */
    run,
  }
}

type Run = (ctx: SkillContext) => Promise<unknown>

function withLayer(layer: MiddlewareLayer, inner: Run): Run {
  return (ctx) => runLayer(layer, inner, ctx)
}

/**
 * Runs a layer. Rejects instead of throwing. Most layers return the promise of `next`: then no
 * other promise is made.
 */
function runLayer(layer: MiddlewareLayer, inner: Run, ctx: SkillContext): Promise<unknown> {
  let nextResult: Promise<unknown> | undefined
  try {
    const returned = layer(ctx, () => {
      nextResult = inner(ctx)
      return nextResult
    })
    return returned === nextResult ? returned : keepResult(returned, ctx)
  } catch (error) {
    return Promise.reject(error)
  }
}

/** If a layer returned another result, makes it the result of the invocation. */
async function keepResult(result: unknown, ctx: SkillContext): Promise<unknown> {
  const returned = await result
  if (returned !== undefined) ctx.locals.result = returned
  return returned
}

/**
 * Adds `approval` to a skill's layers. The `given` settings, of a route, take precedence over those
 * of the skill.
 */
export function requireApproval(
  layered: LayeredSkill,
  middleware: readonly Middleware[],
  given: true | ApprovalSettings = true,
): LayeredSkill {
  const { skill, origin } = layered
  const own = skill.metadata?.approval
  if (own && given === true) return layered
  const approval = given === true ? true : { ...(isJsonObject(own) ? own : {}), ...given }
  return createLayeredSkill({ ...skill, metadata: { ...skill.metadata, approval } }, middleware, origin)
}
