import { z } from 'zod'
import type { ApprovalSettings } from '../core/approval-settings.ts'
import { reasonOf } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Middleware, MiddlewareLayer, Skill, SkillContext } from '../core/skill.ts'

/** A skill with its enabled layers, outermost first. */
export type Onion = ReturnType<typeof createOnion>

/**
 * Wraps a skill in the middleware that its metadata enables or that always applies. Throws if a
 * middleware rejects its settings.
 */
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
    if (fits?.error) throw new Error(`its result does not match its \`output\`: ${inOneLine(fits.error)}`)
    return ctx.locals.result
  }
  return {
    skill,
    layers: applied.map(({ info }) => info),
    /** Runs the layers and the skill. The result is also in `ctx.locals.result`. */
    run: applied.reduceRight<(ctx: SkillContext) => Promise<unknown>>(
      (inner, { layer }) =>
        (ctx) =>
          runLayer(layer, inner, ctx),
      core,
    ),
  }
}

/** Never throws. Adds no promise for a layer that returns the promise of `next`, as most do. */
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

/** Adds `approval` to a skill's layers. Settings of the route take precedence over those of the skill. */
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

/**
 * Accepts settings, or only the value of `key`. Not a union, whose errors would not name the wrong
 * setting. `former`: other spellings of keys, by their name in `settings`.
 */
export function orJust<T extends z.ZodType>(key: string, settings: T, former: Record<string, string> = {}) {
  return z.preprocess((given) => {
    if (typeof given === 'string') return { [key]: given }
    return isJsonObject(given) ? renamed(given, former) : given
  }, settings)
}

/** With both spellings of a key, the other one stays and is an unknown key. */
function renamed(given: JsonObject, former: Record<string, string>): JsonObject {
  const entries = Object.entries(given).map(([key, value]) => {
    const name = Object.keys(former).find((name) => former[name] === key)
    return [name === undefined || Object.hasOwn(given, name) ? key : name, value]
  })
  return Object.fromEntries(entries)
}

/** Parses a middleware's settings. Throws an Error with a message in one line. */
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
