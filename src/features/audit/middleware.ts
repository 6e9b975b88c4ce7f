import { type AuditEntry, type RecordAudit, viaOf } from '../../core/audit.ts'
import type { Call } from '../../core/call.ts'
import { toTriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, pathGet, toJson } from '../../core/json.ts'
import { defineMiddleware, type Middleware, type Skill } from '../../core/skill.ts'
import { createNameMatcher } from '../../runtime/names.ts'

/** Built-in skills that make permanent changes or decisions. */
const AUDITED = createNameMatcher(
  '*-drop *-retry *-bulk *-pause *-resume *-replay *-cancel *-resend *-redrive *-remove *-erase *-export session-delete schedule-create ' +
    'schedule-delete schedule-run subscription-* call-settle gateway-reconnect event-seek approval-decide forget',
)
/** Read-only skills, and frequent operations of programs on their own data. These take precedence. */
const NOT_AUDITED = createNameMatcher('*-list *-show state-* callback-* event-unsubscribe')

/**
 * Records direct calls of people and programs (HTTP, MCP, command line) in the audit log, including
 * refused ones. Calls started by messages are in the history of the message.
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
        const isBuiltIn = deps.isBuiltIn(skill.name)
        // A dry run changes nothing.
        if (isBuiltIn && isDryRun(skill.name, ctx.args)) return next()
        const target = isBuiltIn ? targetOf(ctx.args) : undefined
        const record = (outcome: string) =>
          deps.record({ ...authorOf(call), action: skill.name, outcome, ...(target && { target }) })
        try {
          const result = await next()
          // The approval service itself records every decision.
          if (skill.name !== 'approval-decide') await record('ok')
          return result
        } catch (error) {
          await record(toTriviumError(error).code)
          throw error
        }
      }
    },
  })
}

function isAudited({ name, metadata }: Skill): boolean {
  if (NOT_AUDITED.matches(name)) return false
  return AUDITED.matches(name) || pathGet(metadata, 'annotations.destructiveHint') === true
}

/** Whether a call only counts what it would change. */
function isDryRun(skill: string, args: unknown): boolean {
  const { dryRun, confirm } = Object(args)
  return dryRun === true || (skill === 'person-erase' && confirm !== true)
}

function authorOf({ caller }: Call): Pick<AuditEntry, 'by' | 'via'> {
  return { by: caller.id ?? 'control', via: viaOf(caller) }
}

/** Arguments that are recorded: names, ids, times and flags. Texts, reasons and addresses are not. */
const RECORDED_ARGUMENTS =
  'id ids gateway conversation name key topic queue group route skill subscription team messageId do code since until at happened all confirm dryRun force'.split(
    ' ',
  )
/** Flags that are recorded only if they are true. */
const FLAGS = new Set(['dryRun', 'force'])
/** Maximum characters of a recorded argument. */
const MAX_LENGTH = 200
/** Maximum number of recorded elements of an array. */
const MAX_ITEMS = 20

function targetOf(args: unknown): Record<string, Json> | undefined {
  if (!isJsonObject(args)) return undefined
  const recorded = RECORDED_ARGUMENTS.flatMap((key) => {
    const value = Object.hasOwn(args, key) ? shorten(args[key]) : undefined
    return value === undefined || (value === false && FLAGS.has(key)) ? [] : [[key, value] as const]
  })
  return recorded.length > 0 ? Object.fromEntries(recorded) : undefined
}

function shorten(value: unknown): Json | undefined {
  if (typeof value === 'string') return value.slice(0, MAX_LENGTH)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (!Array.isArray(value)) return undefined
  const items = value.slice(0, MAX_ITEMS).map((item) => String(item).slice(0, MAX_LENGTH))
  return toJson(value.length > MAX_ITEMS ? [...items, `and ${value.length - MAX_ITEMS} more`] : items)
}
