import type { Operations } from '../core/operation.ts'
import type { Skill } from '../core/skill.ts'

/**
 * Makes a skill of each operation. The skill `<prefix><method>` calls the method of the service
 * with this name.
 */
export function operationSkills(service: string, prefix: string, offered: Operations): Skill[] {
  return Object.entries(offered).map(([method, args]) => ({
    name: prefix + method,
    description: args.description ?? '',
    args,
    run: ({ args, services, call }) => services.operation(service, method)(args, call),
  }))
}
