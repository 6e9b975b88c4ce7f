import type { Caller } from '../core/call.ts'
import { identityOf, partsOf } from '../core/identity.ts'
import type { Message } from '../core/message.ts'
import { compileExactPattern } from '../core/pattern.ts'
import { type AccessRule, createMemberTest } from './middleware/access.ts'
import { createNameMatcher } from './names.ts'

export type Access = ReturnType<typeof createAccess>

/**
 * The parts of the configuration that access depends on: the roles, and the gateways. The transport
 * of a gateway decides whether its identities ignore case.
 */
type AccessConfig = {
  access: { roles: Record<string, { members: readonly string[]; skills: readonly string[] }> }
  gateways: readonly { name: string; transport: string }[]
}

/** `isCaseless`: whether the identities of a transport kind ignore case. */
export function createAccess(initial: AccessConfig, isCaseless: (transport: string) => boolean) {
  let config = compiled(initial, isCaseless)
  /** The caller with this identity and its current roles. Without an identity, it has no roles. */
  const callerAs = (id: string | undefined, groups: readonly string[] = []): Caller => {
    if (id === undefined) return { kind: 'route' }
    const known: Caller = { kind: 'route', id, ...(config.caseless.has(partsOf(id).gateway) && CASELESS) }
    const caller = groups.length > 0 ? { ...known, groups } : known
    const granting = config.rules.filter(({ isMember }) => isMember(caller))
    return { ...caller, roles: granting.map(({ role }) => role) }
  }
  return {
    /** Applies a new configuration. */
    use(next: AccessConfig): void {
      config = compiled(next, isCaseless)
    },
    /** The roles as access rules: members and their skills. */
    rules: (): readonly AccessRule[] => config.rules,
    /** Expands `role:NAME` to the members of that role; returns other members unchanged. */
    expand(member: string): string[] {
      const [, role] = /^role:(.+)$/s.exec(member) ?? []
      if (role === undefined) return [member]
      return config.roles.flatMap(([name, { members }]) =>
        compileExactPattern(role).test(name) ? members : [],
      )
    },
    /**
     * The caller with a stored identity. Roles by a group of the provider do not count, because
     * these groups are not stored.
     */
    callerAs: (id: string | undefined) => callerAs(id),
    /** The caller of a skill started by a message: the sender, if verified. */
    callerOf: (message: Pick<Message, 'gateway' | 'from'>): Caller =>
      callerAs(identityOf(message), message.from.groups),
  }
}

const CASELESS = { caseless: true }

function compiled({ access, gateways }: AccessConfig, isCaseless: (transport: string) => boolean) {
  const roles = Object.entries(access.roles)
  return {
    caseless: new Set(gateways.filter(({ transport }) => isCaseless(transport)).map(({ name }) => name)),
    roles,
    rules: roles.map(([role, { members, skills }]) => {
      return { role, isMember: createMemberTest(members), skills: createNameMatcher(skills) }
    }),
  }
}
