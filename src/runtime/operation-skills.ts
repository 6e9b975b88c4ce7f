import type { Operations } from '../core/operation.ts'
import type { Skill } from '../core/skill.ts'

/**
 * Makes a skill per operation, which calls the method of the same name of a service. The name of
 * each skill is `prefix` followed by its method.
 */
export function operationSkills(service: string, prefix: string, offered: Operations): Skill[] {
  return Object.entries(offered).map(([method, args]) => ({
    name: prefix + method,
    description: args.description ?? '',
    args,
    run: ({ args, services, call }) => services.operation(service, method)(args, call),
  }))
}
