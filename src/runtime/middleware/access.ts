import { z } from 'zod'
import type { Call, Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { compileMember, isOperator, isViewer, requireMayInvoke } from '../../core/identity.ts'
import { type BuiltInLayer, defineBuiltInLayer } from '../../core/layers.ts'
import { concernsAllMessages, createNameMatcher, type NameMatcher } from '../names.ts'
import { parseSettings } from '../parse-settings.ts'

/** An access rule: members and their skills. */
export type AccessRule = { isMember: MemberTest; skills: NameMatcher }
type MemberTest = (caller: Caller) => boolean

const settingsSchema = z.union([z.string().transform((one) => [one]), z.array(z.string()).min(1)])

/**
 * The `rules` (read for each call) apply to the skill of a route and to the tools of a model.
 * `access` in metadata applies to every run that a message started. Operators may do everything,
 * and programs what their token names. `isOpen`: whether a skill checks its callers itself, so that
 * the rules do not apply.
 */
export function createAccessMiddleware(
  rules?: () => readonly AccessRule[],
  isOpen: (skill: string) => boolean = () => false,
): BuiltInLayer {
  return defineBuiltInLayer({
    name: 'access',
    order: 100,
    description: 'Limits who may invoke the skill',
    always: rules !== undefined,
    setup(settings, skill) {
      const own =
        settings === undefined ? undefined : createMemberTest(parseSettings(settingsSchema, settings))
      return (ctx, next) => {
        const { call } = ctx
        if (isOperator(call.caller)) return next()
        if (call.caller.skills) {
          if (isRequestOfCaller(call)) checkToken(call, skill.name)
          return next()
        }
        if (own && !own(call.caller))
          throw refused(call, skill.name, `its access setting does not include the sender`)
        const applied = isRequestOfCaller(call) && !isOpen(skill.name) ? rules?.() : undefined
        const grants = ({ isMember, skills }: AccessRule) =>
          skills.matches(skill.name) && isMember(call.caller)
        if (applied?.length && !applied.some(grants))
          throw refused(call, skill.name, 'no access rule allows it for the sender')
        return next()
      }
    },
  })
}

/** Skills that see or affect all gateways. A token for some gateways cannot invoke them. */
const ACROSS_GATEWAYS = createNameMatcher(
  'route-pause route-resume route-list skill-pause skill-resume event-groups dead-letter-* subscription-* approval-* session-* audit-* call-* cost skill-usage slack-installs* troubles trouble-acknowledge trouble-release job-*',
)

/**
 * Checks the token of a program. Refuses skills of schedules, because a schedule may run after the
 * token was removed.
 */
function checkToken(call: Call, name: string): void {
  const { caller, given } = call
  requireMayInvoke(caller, name)
  if (name.startsWith('schedule-') && !isViewer(caller))
    throw refused(call, name, 'work that runs later requires the control token')
  const isEvent = concernsAllMessages(name, given)
  if (caller.gateways && (isEvent || ACROSS_GATEWAYS.matches(name))) {
    const alternative = isEvent ? '; use gateway-receive for single gateways' : ''
    throw refused(call, name, `it reaches all gateways, and needs \`gateways: ["*"]\`${alternative}`)
  }
}

/** Makes a function that tests whether a caller is one of the members (see `compileMember`). */
export function createMemberTest(members: readonly string[]): MemberTest {
  const tests = members.map((member) => compileMember(member))
  return (caller) => tests.some((isMember) => isMember(caller))
}

/**
 * Whether the caller invokes this skill, directly or through a model. False within another skill.
 */
function isRequestOfCaller(call: Call): boolean {
  return call.depth === 0 || call.toolDepth === call.depth
}

function refused(call: Call, name: string, reason: string): TriviumError {
  return new TriviumError('forbidden', {
    what: `Skill ${name} for ${call.caller.id ?? 'an unknown sender'}`,
    reason,
  })
}
