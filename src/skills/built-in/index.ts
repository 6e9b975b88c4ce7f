import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import * as operations from '../../core/operations.ts'
import type { Services } from '../../core/services.ts'
import type { Skill } from '../../core/skill.ts'
import { stateSkills } from './state.ts'

/** What `ctx.services` can do, as skills. */
export const builtInSkills: readonly Skill[] = [
  ...skillsOf('event-', operations.events, ({ events }) => events),
  ...skillsOf('gateway-', operations.gateways, ({ gateways }) => gateways),
  ...skillsOf('slack-', operations.installs, ({ gateways }) => gateways),
  ...skillsOf('', operations.refusals, ({ gateways }) => gateways),
  ...skillsOf('message-', operations.messages, ({ messages }) => messages),
  ...stateSkills,
  ...skillsOf('session-', operations.sessions, ({ sessions }) => sessions),
  ...skillsOf('callback-', operations.callbacks, ({ callbacks }) => callbacks),
  ...skillsOf('approval-', operations.approvals, ({ approvals }) => approvals),
  ...skillsOf('dead-letter-', operations.deadLetters, ({ deadLetters }) => deadLetters),
  ...skillsOf('subscription-', operations.subscriptions, ({ subscriptions }) => subscriptions),
  ...skillsOf('call-', operations.calls, ({ calls }) => calls),
  ...skillsOf('', operations.assistant, ({ assistant }) => assistant).map(answeringSlips),
  ...skillsOf('delegation-', operations.delegations, ({ delegations }) => delegations).map(answeringSlips),
  ...skillsOf('schedule-', operations.schedules, ({ schedules }) => schedules),
  ...skillsOf('workbench-', operations.workbench, ({ workbench }) => workbench),
  ...skillsOf('task-', operations.tasks, ({ workbench }) => workbench),
]

/** A skill for each operation, which hands its arguments to the method of the same name. */
function skillsOf<O extends operations.Operations>(
  prefix: string,
  offered: O,
  serviceOf: (services: Services) => operations.ServiceOf<O>,
): Skill[] {
  return Object.entries(offered).map(([method, args]) => ({
    name: prefix + method,
    description: args.description ?? '',
    args,
    run({ args, services, call }) {
      const methods: Methods = serviceOf(services)
      return methods[method]?.(args, call)
    },
  }))
}

/** Methods whose arguments their operations' schemas have checked. */
type Methods = Record<string, { of(args: unknown, call: Call): Promise<unknown> }['of']>

const SLIPS = new Set(['usage', 'not_found', 'limit_reached'])

/** In a chat a slip of who asks gets an answer; a program gets the error. */
function answeringSlips(skill: Skill): Skill {
  return {
    ...skill,
    async run(ctx) {
      try {
        return await skill.run(ctx)
      } catch (error) {
        if (ctx.message && error instanceof TriviumError && SLIPS.has(error.code))
          return { text: error.message }
        throw error
      }
    },
  }
}
