import type { Call } from '../../core/call.ts'
import * as operate from '../../core/operations/operate.ts'
import type { Operations, ServiceOf } from '../../core/operations/operation.ts'
import * as roads from '../../core/operations/roads.ts'
import * as work from '../../core/operations/work.ts'
import type { Services } from '../../core/services.ts'
import type { Skill } from '../../core/skill.ts'
import { assistantSkills } from './assistant.ts'
import { stateSkills } from './state.ts'

/** What `ctx.services` can do, as skills. */
export const builtInSkills: readonly Skill[] = [
  ...skillsOf('event-', roads.events, ({ events }) => events),
  ...skillsOf('gateway-', roads.gateways, ({ gateways }) => gateways),
  ...skillsOf('', roads.refusals, ({ gateways }) => gateways),
  ...skillsOf('message-', roads.messages, ({ messages }) => messages),
  ...stateSkills,
  ...skillsOf('callback-', operate.callbacks, ({ callbacks }) => callbacks),
  ...skillsOf('approval-', operate.approvals, ({ approvals }) => approvals),
  ...skillsOf('dead-letter-', operate.deadLetters, ({ deadLetters }) => deadLetters),
  ...skillsOf('subscription-', operate.subscriptions, ({ subscriptions }) => subscriptions),
  ...skillsOf('call-', operate.calls, ({ calls }) => calls),
  ...assistantSkills,
  ...skillsOf('schedule-', work.schedules, ({ schedules }) => schedules),
  ...skillsOf('workbench-', work.workbench, ({ workbench }) => workbench),
  ...skillsOf('task-', work.tasks, ({ workbench }) => workbench),
]

/** A skill for each operation, which hands its arguments to the method of the same name. */
function skillsOf<O extends Operations>(
  prefix: string,
  operations: O,
  serviceOf: (services: Services) => ServiceOf<O>,
): Skill[] {
  return Object.entries(operations).map(([method, operation]) => ({
    ...operation,
    name: prefix + method,
    run({ args, services, call }) {
      const methods: Methods = serviceOf(services)
      return methods[method]?.(args, call)
    },
  }))
}

/** Methods whose arguments their operations' schemas have checked. */
type Methods = Record<string, { of(args: unknown, call: Call): Promise<unknown> }['of']>
