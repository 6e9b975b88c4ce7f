import type { ConsoleConfig, OidcConfig } from '../../config/schema/console.ts'
import type { Caller } from '../../core/call.ts'
import { withoutCase } from '../../core/identity.ts'
import { VIEWER, VIEWER_SKILLS } from '../../core/viewer-role.ts'
import type { Person } from './sessions.ts'

/** Who calls, and their rights. */
export type Bearer = Omit<Caller, 'kind'>

const CONTROL_TOKEN = 'control-token'

/** What a person may do now, by the configuration in force; undefined for one who may not sign in any more. */
export function rightsOf(person: Person, { oidc }: ConsoleConfig): Bearer | undefined {
  const id = idOf(person)
  if (person.via === 'token') return { id, roles: ['operator'] }
  if (!oidc || oidc.issuer !== person.issuer || !isAmong(oidc.allow, person)) return undefined
  return isOperator(oidc, person)
    ? { id, roles: ['operator'] }
    : { id, roles: [VIEWER], skills: VIEWER_SKILLS }
}

/** How somebody is named in histories. A name beside the control token is what its holder says it is. */
export function idOf({ via, name, subject }: Person): string {
  if (via === 'token') return name === undefined ? CONTROL_TOKEN : `${CONTROL_TOKEN}:${name}`
  return name === undefined ? `oidc:sub:${subject}` : `oidc:${name}`
}

function isOperator({ roles }: OidcConfig, person: Person): boolean {
  return roles === undefined || isAmong(roles.operator, person)
}

/** Only a name that the provider has proven is in `name`. Letter case counts in everything but mail addresses. */
function isAmong(members: readonly string[], { name, subject, groups = [] }: Person): boolean {
  const address = name === undefined ? undefined : withoutCase(name)
  return members.some((member) => {
    if (member === '*') return true
    if (member.startsWith('sub:')) return member.slice('sub:'.length) === subject
    if (member.startsWith('group:')) return groups.includes(member.slice('group:'.length))
    if (address === undefined) return false
    const wanted = withoutCase(member)
    // The last @: a quoted local part may have others.
    return wanted.startsWith('*@')
      ? address.slice(address.lastIndexOf('@')) === wanted.slice(1)
      : address === wanted
  })
}
