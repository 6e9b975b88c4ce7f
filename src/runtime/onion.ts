import { z } from 'zod'
import type { ApprovalSettings } from '../core/approval-settings.ts'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import type { Middleware, MiddlewareLayer, Skill, SkillContext } from '../core/skill.ts'

/** A skill with the layers that its metadata switched on, outermost first. */
export type Onion = ReturnType<typeof createOnion>

/** Wraps a skill in the middleware that its metadata names or that is always on. Throws where one refuses its settings. */
export function createOnion(skill: Skill, middleware: readonly Middleware[]) {
  const metadata = skill.metadata ?? {}
  const applied = middleware
    .filter((one) => one.always || Object.hasOwn(metadata, one.name))
    .toSorted((a, b) => a.order - b.order || a.name.localeCompare(b.name))
    .flatMap(({ name, order, description, setup }) => {
      const settings = Object.hasOwn(metadata, name) ? metadata[name] : undefined
      try {
        const layer = setup(settings, skill)
        return layer ? [{ layer, info: { name, order, description, settings } }] : []
      } catch (error) {
        throw new Error(`metadata.${name}: ${reasonOf(error)}`, { cause: error })
      }
    })
  const core = async (ctx: SkillContext) => {
    const returned = await skill.run(ctx)
    if (returned !== undefined) ctx.locals.result = returned
    const fits = skill.output?.safeParse(ctx.locals.result)
    if (fits?.error) throw new Error(`what it returned is not its \`output\`: ${inOneLine(fits.error)}`)
    return ctx.locals.result
  }
  return {
    skill,
    layers: applied.map(({ info }) => info),
    /** Runs the layers and, inside them, the skill; the result is in `ctx.locals.result` too. */
    run: applied.reduceRight<(ctx: SkillContext) => Promise<unknown>>(
      (inner, { layer }) =>
        (ctx) =>
          runLayer(layer, inner, ctx),
      core,
    ),
  }
}

/** Never throws. A layer that returns the promise of `next` costs no promise of its own: most look at the call, and pass it on. */
function runLayer(layer: MiddlewareLayer, inner: (ctx: SkillContext) => Promise<unknown>, ctx: SkillContext) {
  let passed: Promise<unknown> | undefined
  try {
    const returned = layer(ctx, () => {
      passed = inner(ctx)
      return passed
    })
    return returned === passed ? passed : keepResult(returned, ctx)
  } catch (error) {
    return Promise.reject(error)
  }
}

async function keepResult(result: unknown, ctx: SkillContext): Promise<unknown> {
  const returned = await result
  if (returned !== undefined) ctx.locals.result = returned
  return returned
}

/** The onion with `approval` in the metadata. What a route gives goes before the settings of the skill. */
export function guardOnion(
  onion: Onion,
  middleware: readonly Middleware[],
  given: true | ApprovalSettings = true,
): Onion {
  const { skill } = onion
  const own = skill.metadata?.approval
  if (own && given === true) return onion
  const approval = given === true ? true : { ...(isJsonObject(own) ? own : {}), ...given }
  return createOnion({ ...skill, metadata: { ...skill.metadata, approval } }, middleware)
}

/** Settings of which the one under `key` may stand alone. No union: its errors do not say which setting is wrong. */
export function orJust<T extends z.ZodType>(key: string, settings: T) {
  return z.preprocess((given) => (typeof given === 'string' ? { [key]: given } : given), settings)
}

/** Parses a middleware's settings; throws an Error that says in one line what is wrong. */
export function parseSettings<T>(schema: z.ZodType<T>, settings: unknown): T {
  const parsed = schema.safeParse(settings)
  if (parsed.success) return parsed.data
  throw new Error(inOneLine(parsed.error))
}

function inOneLine(error: z.ZodError): string {
  const faults = z.prettifyError(error).split('✖ ').filter(Boolean)
  return faults
    .map((fault) =>
      fault
        .trim()
        .replaceAll(/\n\s*→ /g, ' ')
        .replaceAll(/\n\s*/g, ' '),
    )
    .join('; ')
}
