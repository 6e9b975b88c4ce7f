import type { AccessConfig } from '../config/sections.ts'
import type { Message } from '../core/message.ts'
import { compilePattern } from '../core/pattern.ts'
import type { Caller } from '../core/skill.ts'
import type { AccessRule } from '../skills/middleware/access.ts'

/** The roles of the configuration as rules: their members may have these skills invoked. */
export function accessRules(access: AccessConfig): AccessRule[] {
  return Object.values(access.roles).map(({ members, skills }) => ({ who: members, skills }))
}

/**
 * Who asks when a message starts a skill: the sender, where the transport has proof of them, with the roles that
 * name them. An unproven sender has no identity and no role.
 */
export function callerOf({ from }: Pick<Message, 'from'>, access: AccessConfig): Caller {
  const { id, address, verified } = from
  if (!verified) return { kind: 'route' }
  const identity = address ?? id
  const roles = Object.entries(access.roles).flatMap(([role, { members }]) =>
    members.some((member) => compilePattern(member).test(identity)) ? [role] : [],
  )
  return { kind: 'route', id: identity, roles }
}
