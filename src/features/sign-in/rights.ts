import type { Caller } from '../../core/call.ts'
import { withoutCase } from '../../core/identity.ts'
import { VIEWER, VIEWER_SKILLS } from '../../core/viewer-role.ts'
import type { ConsoleConfig, OidcConfig } from './schema.ts'
import type { Person } from './sessions.ts'

/** The identity and rights of a caller. */
export type Bearer = Omit<Caller, 'kind'>

const CONTROL_TOKEN = 'control-token'

/** The rights of a person by the current configuration; undefined if they may no longer sign in. */
export function rightsOf(person: Person, { oidc }: ConsoleConfig): Bearer | undefined {
  const id = idOf(person)
  if (person.via === 'token') return { id, roles: ['operator'] }
  if (!oidc || oidc.issuer !== person.issuer || !isAmong(oidc.allow, person)) return undefined
  if (isOperator(oidc, person)) return { id, roles: ['operator'] }
  return isViewer(oidc, person) ? { id, roles: [VIEWER], skills: VIEWER_SKILLS } : undefined
}

/** The id of a person in histories. A name given with the control token is only claimed. */
export function idOf({ via, name, subject }: Person): string {
  if (via === 'token') return name === undefined ? CONTROL_TOKEN : `${CONTROL_TOKEN}:${name}`
  return name === undefined ? `oidc:sub:${subject}` : `oidc:${name}`
}

function isOperator({ roles }: OidcConfig, person: Person): boolean {
  return roles === undefined || isAmong(roles.operator, person)
}

/** Whether a person in `allow`, if not an operator, is a viewer: anyone, unless `viewer` is set. */
function isViewer({ roles }: OidcConfig, person: Person): boolean {
  return roles?.viewer === undefined || isAmong(roles.viewer, person)
}

/** Whether a person is one of `members`. Case matters, except in mail addresses. */
function isAmong(members: readonly string[], { name, subject, groups = [] }: Person): boolean {
  const address = name === undefined ? undefined : withoutCase(name)
  return members.some((member) => {
    if (member === '*') return true
    if (member.startsWith('sub:')) return member.slice('sub:'.length) === subject
    if (member.startsWith('group:')) return groups.includes(member.slice('group:'.length))
    if (address === undefined) return false
    const allowed = withoutCase(member)
    // The last @, because a quoted local part may contain others.
    const domain = address.slice(address.lastIndexOf('@'))
    return allowed.startsWith('*@') ? domain === allowed.slice(1) : address === allowed
  })
}
