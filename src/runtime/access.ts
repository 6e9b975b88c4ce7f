import type { Caller } from '../core/call.ts'
import { identityOf, partsOf } from '../core/identity.ts'
import type { Message } from '../core/message.ts'
import { compileExactPattern } from '../core/pattern.ts'
import { type AccessRule, createWho } from './middleware/access.ts'
import { createNameMatcher } from './names.ts'

/** Who may have which skills invoked, by the roles in force. */
export type Access = ReturnType<typeof createAccess>

/** The parts of the configuration that give rights. */
type Roles = {
  access: { roles: Record<string, { members: readonly string[]; skills: readonly string[] }> }
  gateways: readonly { name: string; transport: string }[]
}

/** `isCaseless`: whether the identities of a kind of transport have no case. */
export function createAccess(initial: Roles, isCaseless: (transport: string) => boolean) {
  let config = compiled(initial, isCaseless)
  /** The caller with this identity, and the roles that name it now. Without an identity there is no role. */
  const callerAs = (id: string | undefined, groups: readonly string[] = []): Caller => {
    if (id === undefined) return { kind: 'route' }
    const who: Caller = { kind: 'route', id, ...(config.caseless.has(partsOf(id).gateway) && CASELESS) }
    const caller = groups.length > 0 ? { ...who, groups } : who
    const named = config.rules.filter(({ who }) => who(caller))
    return { ...caller, roles: named.map(({ role }) => role) }
  }
  return {
    /** Puts other roles in force. */
    use(next: Roles): void {
      config = compiled(next, isCaseless)
    },
    /** The roles as rules: their members may have these skills invoked. */
    rules: (): readonly AccessRule[] => config.rules,
    /** A member; in place of `role:NAME` the members of those roles. */
    expand(member: string): string[] {
      const [, role] = /^role:(.+)$/s.exec(member) ?? []
      if (role === undefined) return [member]
      return config.named.flatMap(([name, { members }]) =>
        compileExactPattern(role).test(name) ? members : [],
      )
    },
    callerAs: (id: string | undefined) => callerAs(id),
    /** Who asks when a message starts a skill: the sender, where the transport has proof of them. */
    callerOf: (message: Pick<Message, 'gateway' | 'from'>): Caller =>
      callerAs(identityOf(message), message.from.groups),
  }
}

const CASELESS = { caseless: true }

function compiled({ access, gateways }: Roles, isCaseless: (transport: string) => boolean) {
  const roles = Object.entries(access.roles)
  return {
    caseless: new Set(gateways.filter(({ transport }) => isCaseless(transport)).map(({ name }) => name)),
    named: roles,
    rules: roles.map(([role, { members, skills }]) => {
      return { role, who: createWho(members), skills: createNameMatcher(skills) }
    }),
  }
}
