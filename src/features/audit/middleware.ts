import { type AuditEntry, type RecordAudit, viaOf } from '../../core/audit.ts'
import type { Call } from '../../core/call.ts'
import { toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, pathGet, toJson } from '../../core/json.ts'
import { defineMiddleware, type Middleware, type Skill } from '../../core/skill.ts'
import { createNameMatcher } from '../../runtime/names.ts'

/** Skills that make permanent changes or decisions. */
const CHANGES = createNameMatcher(
  '*-drop *-retry *-bulk *-pause *-resume *-replay *-cancel *-resend *-redrive *-remove *-erase *-export session-delete schedule-create ' +
    'schedule-delete schedule-run subscription-* call-settle gateway-reconnect event-seek approval-decide forget',
)
/** Read-only skills, and frequent operations of programs on their own data. */
const NOT = createNameMatcher('*-list *-show state-* callback-* event-unsubscribe')

/**
 * Records direct calls of people and programs (HTTP, MCP, command line) in the audit log, including refused ones. Calls started by
 * messages and code are in the message's history.
 */
export function createAuditMiddleware(deps: {
  record: RecordAudit
  /** Whether a skill is built in, so that the meaning of its arguments is known. */
  isBuiltIn(skill: string): boolean
}): Middleware {
  return defineMiddleware({
    name: 'audit',
    // Outside `access`, so that refused calls are recorded.
    order: 50,
    description: 'Records changes and decisions in the audit log',
    always: true,
    setup(_settings, skill) {
      if (!isAudited(skill)) return undefined
      return async (ctx, next) => {
        const { call } = ctx
        if (call.depth > 0 || call.caller.kind === 'route' || call.caller.kind === 'code') return next()
        const target = deps.isBuiltIn(skill.name) ? targetOf(ctx.args) : undefined
        const note = (outcome: string) =>
          deps.record({ ...whoOf(call), action: skill.name, outcome, ...(target && { target }) })
        try {
          const result = await next()
          // The service itself records every decision.
          if (skill.name !== 'approval-decide') await note('ok')
          return result
        } catch (error) {
          await note(toTriviumError(error).code)
          throw error
        }
      }
    },
  })
}

function isAudited({ name, metadata }: Skill): boolean {
  if (NOT.matches(name)) return false
  return CHANGES.matches(name) || pathGet(metadata, 'annotations.destructiveHint') === true
}

function whoOf({ caller }: Call): Pick<AuditEntry, 'by' | 'via'> {
  return { by: caller.id ?? 'control', via: viaOf(caller) }
}

/** Keys of arguments that are names or ids; texts, reasons and addresses are not recorded. */
const NAMED =
  'id ids gateway conversation name key topic queue group route skill subscription team messageId since until at happened all confirm dryRun force'.split(
    ' ',
  )
/** Recorded only where they are set. */
const FLAGS = new Set(['dryRun', 'force'])
const LONGEST = 200
const MOST = 20

function targetOf(args: unknown): Record<string, Json> | undefined {
  if (!isJsonObject(args)) return undefined
  const shown = NAMED.flatMap((key) => {
    const value = Object.hasOwn(args, key) ? brief(args[key]) : undefined
    return value === undefined || (value === false && FLAGS.has(key)) ? [] : [[key, value] as const]
  })
  return shown.length > 0 ? Object.fromEntries(shown) : undefined
}

function brief(value: unknown): Json | undefined {
  if (typeof value === 'string') return value.slice(0, LONGEST)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (!Array.isArray(value)) return undefined
  const items = value.slice(0, MOST).map((item) => String(item).slice(0, LONGEST))
  return toJson(value.length > MOST ? [...items, `and ${value.length - MOST} more`] : items)
}
