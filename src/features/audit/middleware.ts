import { actorOf, type RecordAudit, viaOf } from '../../core/audit.ts'
import { authorOf } from '../../core/author.ts'
import type { Caller } from '../../core/call.ts'
import { pathGet } from '../../core/json.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'
import type { Skill } from '../../core/skill.ts'
import type { AttemptedCall } from '../../runtime/manager.ts'
import { createNameMatcher } from '../../runtime/names.ts'
import type { PlaceOf } from './place-of.ts'
import { failureOf, givenIn, recordedResult } from './recorded.ts'

/** Built-in skills that make permanent changes or decisions. */
const AUDITED = createNameMatcher(
  '*-drop *-retry *-bulk *-pause *-resume *-replay *-cancel *-resend *-redrive *-remove *-erase *-export session-delete schedule-create ' +
    'schedule-delete schedule-run conversation-note subscription-* call-settle conversation-settle gateway-reconnect event-seek event-skip approval-decide ' +
    'forget trouble-* view-*',
)
/**
 * Reads of other skills, and frequent operations of programs on their own data. A skill in both
 * lists is not audited.
 */
const NOT_AUDITED = createNameMatcher('*-list *-show state-* callback-* event-unsubscribe')

/** Sends, which are audited only if a person makes them: an answer by hand. */
const SEND = 'gateway-send'

/**
 * Records direct calls of people and programs (HTTP, MCP, command line) in the audit log, including
 * refused ones. Calls started by messages are in the history of the message.
 */
export function createAuditMiddleware(deps: { record: RecordAudit; placeOf: PlaceOf }): BuiltInLayer {
  return defineBuiltInLayer({
    name: 'audit',
    // Outside `access`, so that refused calls are recorded.
    order: 50,
    description: 'Records changes and decisions in the audit log',
    always: true,
    setup(_settings, skill, { isBuiltIn }) {
      if (!isAudited(skill, isBuiltIn)) return undefined
      return async (ctx, next) => {
        const { call } = ctx
        if (call.depth > 0 || !isOutside(call.caller)) return next()
        // A dry run changes nothing. Other skills may use an argument `dryRun` for something else.
        if (isBuiltIn && isDryRun(skill.name, ctx.args)) return next()
        const { record, placeOf } = deps
        const { caller } = call
        const called = { skill, isBuiltIn, args: ctx.args, caller, nonlocals: ctx.nonlocals }
        if (isOfProgram(called)) return next()
        const place = isBuiltIn ? await placeOf(skill.name, ctx.args) : undefined
        const common = withPlace(commonOf(called), place)
        try {
          const result = await next()
          // The approval service itself records every decision.
          if (skill.name !== 'approval-decide')
            await record({ ...common, outcome: 'ok', ...(isBuiltIn && recordedResult(result)) })
          return result
        } catch (error) {
          await record({ ...common, ...failureOf(error, isBuiltIn) })
          throw error
        }
      }
    },
  })
}

/**
 * Makes a function that records calls which were refused before they reached the middleware: the
 * caller may not invoke the skill.
 */
export function createRefusedCalls({ record }: { record: RecordAudit }) {
  return async (call: AttemptedCall, error: unknown): Promise<void> => {
    const { skill, isBuiltIn, args, caller } = call
    if (!isAudited(skill, isBuiltIn) || !isOutside(caller) || (isBuiltIn && isDryRun(skill.name, args)))
      return
    if (isOfProgram(call)) return
    await record({ ...commonOf(call), ...failureOf(error, isBuiltIn) })
  }
}

/**
 * Trivium's own reads are not audited. Other skills are audited even if they are marked as
 * read-only.
 */
function isAudited({ name, metadata }: Skill, isBuiltIn: boolean): boolean {
  if (NOT_AUDITED.matches(name)) return false
  if (isBuiltIn && pathGet(metadata, 'annotations.readOnlyHint') === true) return false
  return name === SEND || AUDITED.matches(name) || pathGet(metadata, 'annotations.destructiveHint') === true
}

/** Whether a call only counts what it would change. */
function isDryRun(skill: string, args: unknown): boolean {
  const { dryRun, confirm } = Object(args)
  return dryRun === true || (/^(person|message)-erase$/.test(skill) && confirm !== true)
}

function isOutside({ kind }: Caller): boolean {
  return kind !== 'route' && kind !== 'code'
}

/** Whether a program sends something, as it does for each message that it handles. */
function isOfProgram({ skill, caller }: Pick<AttemptedCall, 'skill' | 'caller'>): boolean {
  return skill.name === SEND && viaOf(caller) !== 'console' && actorOf({ by: authorOf(caller) }) !== 'person'
}

type Common = ReturnType<typeof commonOf>

/** Adds the message and the conversation that the call is about, unless it names others. */
function withPlace(common: Common, place: object | undefined): Common {
  return place ? { ...common, target: { ...place, ...common.target } } : common
}

function commonOf({ skill, isBuiltIn, args, caller, nonlocals }: AttemptedCall) {
  const from = pathGet(nonlocals, 'request.address')
  return {
    by: authorOf(caller),
    via: viaOf(caller),
    ...(typeof from === 'string' && { from }),
    action: skill.name,
    ...(isBuiltIn && givenIn(skill.name, args)),
  }
}
