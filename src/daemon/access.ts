import type { AccessConfig } from '../config/sections.ts'
import type { Caller } from '../core/call.ts'
import type { Message } from '../core/message.ts'
import { compilePattern } from '../core/pattern.ts'
import type { AccessRule } from '../skills/middleware/access.ts'

/** Who may have which skills invoked, by the roles in force. */
export type Access = ReturnType<typeof createAccess>

export function createAccess(initial: AccessConfig) {
  let access = initial
  return {
    /** Puts other roles in force. */
    use(next: AccessConfig): void {
      access = next
    },
    /** The roles as rules: their members may have these skills invoked. */
    rules: (): AccessRule[] =>
      Object.values(access.roles).map(({ members, skills }) => ({ who: members, skills })),
    /**
     * Who asks when a message starts a skill: the sender, where the transport has proof of them, with the roles that
     * name them. An unproven sender has no identity and no role.
     */
    callerOf({ from: { id, address, verified } }: Pick<Message, 'from'>): Caller {
      if (!verified) return { kind: 'route' }
      const identity = address ?? id
      const roles = Object.entries(access.roles).flatMap(([role, { members }]) =>
        members.some((member) => compilePattern(member).test(identity)) ? [role] : [],
      )
      return { kind: 'route', id: identity, roles }
    },
  }
}
