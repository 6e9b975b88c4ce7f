import type { Caller } from './call.ts'
import { TriviumError } from './errors.ts'
import type { Message } from './message.ts'
import { compileExactPattern, compilePattern, isRegex } from './pattern.ts'
import { VIEWER, VIEWER_LIMIT } from './viewer-role.ts'

/**
 * Prefixes of identities that belong to no gateway: `role:admins`, a program `token:ci`, and people
 * in the console, `oidc:ada@example.com` and `control-token:Ada`. No gateway can have these names.
 */
export const RESERVED_PREFIXES: readonly string[] = ['role', 'token', 'oidc', 'control-token']

/**
 * The verified author of a message: `<gateway>:<identity>`, or `<gateway>:external:<identity>` for
 * another workspace. Undefined for an unverified author, and for a name that would look like a
 * person of another workspace.
 */
export function identityOf({ gateway, from }: Pick<Message, 'gateway' | 'from'>): string | undefined {
  const name = from.address ?? from.id
  if (!from.verified || (!from.external && name.startsWith(EXTERNAL))) return undefined
  return `${gateway}:${from.external ? EXTERNAL : ''}${name}`
}

/** Splits an identity into its gateway and the name there. */
export function partsOf(identity: string): { gateway: string; name: string; external: boolean } {
  const [, gateway = '', external, name = identity] = FORM.exec(identity) ?? []
  return { gateway, name, external: external !== undefined }
}

/**
 * Removes the `+tag` of an address or of an identity with one: `support+tag@example.com` is
 * `support@example.com`.
 */
export function withoutTag(address: string): string {
  const tag = address.indexOf('+')
  const at = address.lastIndexOf('@')
  return tag >= 0 && tag < at ? address.slice(0, tag) + address.slice(at) : address
}

const EXTERNAL = 'external:'
const FORM = /^(\*|\w[\w.-]*):(external:)?(.+)$/s
/** A member with a glob before the first colon, such as `sup*:ann`. */
const PATTERN_OF_GATEWAYS = /^[\w.-]*[*?[{][^:]*:./s

/**
 * Whether a caller may do everything: holders of the control token, the command line, the daemon's
 * own code, and everyone in the role `operator`.
 */
export function isOperator({ kind, roles, skills }: Caller): boolean {
  const isProgram = skills !== undefined
  return (kind !== 'route' && !isProgram) || (roles?.includes('operator') ?? false)
}

/** A console user with read-only access. */
export function isViewer({ roles, skills }: Omit<Caller, 'kind'>): boolean {
  return skills !== undefined && (roles?.includes(VIEWER) ?? false)
}

/**
 * Whether a caller may invoke a skill at all. A program may invoke the skills that its token names.
 */
export function mayInvoke({ skills }: Pick<Caller, 'skills'>, skill: string): boolean {
  return skills?.some((name) => compilePattern(name).test(skill)) ?? true
}

/** Throws `forbidden` and names the missing right if `mayInvoke` is false. */
export function requireMayInvoke(caller: Omit<Caller, 'kind'>, skill: string): void {
  if (mayInvoke(caller, skill)) return
  const reason = isViewer(caller)
    ? VIEWER_LIMIT
    : `its token only allows the skills ${caller.skills?.join(', ')}`
  throw new TriviumError('forbidden', { what: `Skill ${skill} for ${caller.id}`, reason })
}

/**
 * Compiles a member of a role, of `approvers` or of `access`: `<gateway>:<identity>`, where the
 * gateway may be `*`, and the identity a glob or a regex; `<gateway>:group:ID` for a group of the
 * provider; `role:NAME`; or `*` for everyone, including unverified senders. Only members with
 * `external` match people of another workspace. Identities compare exactly, so look-alikes differ;
 * callers of a case-insensitive transport (`caseless`) compare in lower case. Throws an Error that
 * lists the accepted forms, built from `prefixes`.
 */
export function compileMember(
  source: string,
  prefixes: readonly string[] = ['<gateway>', '*', 'role'],
): (caller: Caller) => boolean {
  if (/^\*+$/.test(source)) return ({ id = '' }) => !partsOf(id).external
  const [, role] = /^role:(.+)$/s.exec(source) ?? []
  if (role !== undefined) {
    const pattern = compileExactPattern(role)
    return ({ roles = [] }) => roles.some((one) => pattern.test(one))
  }
  const wanted = partsOf(source)
  if (wanted.gateway === '') {
    if (PATTERN_OF_GATEWAYS.test(source))
      throw new Error(`the gateway of "${source}" is a pattern; write its name, or * for all gateways`)
    const forms = prefixes.map((prefix) => `${prefix}:${source}`).join(' or ')
    throw new Error(`"${source}" has no gateway; write ${forms}`)
  }
  const isHere = ({ gateway, external }: ReturnType<typeof partsOf>) =>
    gateway !== '' && external === wanted.external && (wanted.gateway === '*' || gateway === wanted.gateway)
  const [, group] = /^group:(.+)$/s.exec(wanted.name) ?? []
  if (group !== undefined) {
    const pattern = compileExactPattern(group)
    return ({ id = '', groups = [] }) => isHere(partsOf(id)) && groups.some((one) => pattern.test(one))
  }
  const exact = compileExactPattern(wanted.name)
  const folded = isRegex(wanted.name) ? exact : compileExactPattern(withoutCase(wanted.name))
  return ({ id = '', caseless = false }) => {
    const parts = partsOf(id)
    return isHere(parts) && (caseless ? folded : exact).test(parts.name)
  }
}

/**
 * Lower case for A to Z only: `toLowerCase` would turn the Kelvin sign (U+212A) into k, and one
 * person into another.
 */
export function withoutCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
