import { isJsonObject, type Json, pathGet, toJson } from '../../core/json.ts'
import type { SessionEntry } from '../../core/services.ts'
import type { SkillContext } from '../../core/skill.ts'

/**
 * What one invocation leaves in its session. `$all` is arguments, result and the conversation with the
 * model; any other entry is a path, looked up in ctx (`args.message`, `locals.x`) or in its result
 * (`result.summary`). What is not there leaves nothing.
 */
export function captureEntry(ctx: SkillContext, capture: readonly string[], at: number): SessionEntry {
  const entry: SessionEntry = { at }
  const values: Record<string, Json> = {}
  for (const what of capture) {
    if (what === '$all' || what === '$args') entry.args = slimArgs(ctx)
    if (what === '$all' || what === '$result') entry.result = safeJson(ctx.locals.result)
    if (what === '$all' || what === '$agent') {
      const trace = pathGet(ctx.locals, 'agent.trace')
      if (trace !== undefined) entry.agent = safeJson(trace)
    }
    if (what.startsWith('$')) continue
    const value = pathGet({ ...ctx, result: ctx.locals.result }, what)
    if (value !== undefined) values[what] = safeJson(value)
  }
  if (Object.keys(values).length > 0) entry.values = values
  return entry
}

/** A dispatched skill gets the whole message among its arguments; the journal keeps that already. */
function slimArgs({ args, message }: SkillContext): Json {
  if (!isJsonObject(args) || !message || pathGet(args, 'message.id') !== message.id) return safeJson(args)
  return safeJson({ ...args, message: { id: message.id } })
}

/** A result that JSON cannot carry (a cycle, a bigint) must not make the skill fail. */
function safeJson(value: unknown): Json {
  try {
    return toJson(value)
  } catch {
    return String(value)
  }
}
