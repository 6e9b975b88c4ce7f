import type { Caller } from './call.ts'
import { TriviumError } from './errors.ts'
import type { Message } from './message.ts'
import { compileExactPattern, compilePattern } from './pattern.ts'
import { VIEWER } from './viewer-role.ts'

/** Who wrote a message: `<gateway>:<identity>`, of another workspace `<gateway>:external:<identity>`; undefined without proof. */
export function identityOf({ gateway, from }: Pick<Message, 'gateway' | 'from'>): string | undefined {
  if (!from.verified) return undefined
  return `${gateway}:${from.external ? EXTERNAL : ''}${from.address ?? from.id}`
}

/** The gateway, and who somebody is there. */
export function partsOf(identity: string): { gateway: string; name: string; external: boolean } {
  const [, gateway = '', external, name = identity] = FORM.exec(identity) ?? []
  return { gateway, name, external: external !== undefined }
}

/** `support+tag@example.com` is delivered to `support@example.com`: of an address, or an identity with one. */
export function withoutTag(address: string): string {
  const [tag, at] = [address.indexOf('+'), address.lastIndexOf('@')]
  return tag >= 0 && tag < at ? address.slice(0, tag) + address.slice(at) : address
}

const EXTERNAL = 'external:'
const FORM = /^(\*|\w[\w.-]*):(external:)?(.+)$/s

/** Who holds the control token, the command line, and code of the daemon: they may do everything. */
export function isOperator({ kind, roles, skills }: Caller): boolean {
  return (kind !== 'route' && !skills) || (roles?.includes('operator') ?? false)
}

/** Somebody in the console who may look and change nothing. */
export function isViewer({ roles, skills }: Omit<Caller, 'kind'>): boolean {
  return skills !== undefined && (roles?.includes(VIEWER) ?? false)
}

/** Whether a caller may ask for a skill at all: a program with a token has those that the token names. */
export function mayAskFor({ skills }: Pick<Caller, 'skills'>, skill: string): boolean {
  return skills?.some((name) => compilePattern(name).test(skill)) ?? true
}

/** Throws `forbidden`, with the right that is missing, where `mayAskFor` is false. */
export function requireAskFor(caller: Omit<Caller, 'kind'>, skill: string): void {
  if (mayAskFor(caller, skill)) return
  const reason = isViewer(caller)
    ? 'a viewer changes nothing; `console: { oidc: { roles } }` names the operators'
    : `its \`skills\` in \`tokens\` are ${caller.skills?.join(', ')}`
  throw new TriviumError('forbidden', { what: `Skill ${skill} for ${caller.id}`, reason })
}

/**
 * Reads a member of a role, of `approvers` or of `access`: `<gateway>:<identity>`, where each part may be `*` or a glob;
 * `<gateway>:group:ID`, a group of its provider; `role:NAME`; or `*`, which matches everyone, senders without proof included. Only a member that says `external` matches
 * people of another workspace. Identities compare exactly, look-alikes included; a caller whose transport has no case
 * (`caseless`) is compared in lower case. Throws an Error that shows the accepted forms, built from `halves`.
 */
export function compileMember(
  source: string,
  halves: readonly string[] = ['<gateway>', '*', 'role'],
): (caller: Caller) => boolean {
  if (/^\*+$/.test(source)) return ({ id = '' }) => !partsOf(id).external
  const [, role] = /^role:(.+)$/s.exec(source) ?? []
  if (role !== undefined) {
    const pattern = compileExactPattern(role)
    return ({ roles = [] }) => roles.some((one) => pattern.test(one))
  }
  const wanted = partsOf(source)
  if (wanted.gateway === '') {
    const meant = halves.map((half) => `${half}:${source}`).join(' or ')
    throw new Error(`"${source}" names no gateway; write ${meant}`)
  }
  const isHere = ({ gateway, external }: ReturnType<typeof partsOf>) =>
    gateway !== '' && external === wanted.external && (wanted.gateway === '*' || gateway === wanted.gateway)
  const [, group] = /^group:(.+)$/s.exec(wanted.name) ?? []
  if (group !== undefined) {
    const pattern = compileExactPattern(group)
    return ({ id = '', groups = [] }) => isHere(partsOf(id)) && groups.some((one) => pattern.test(one))
  }
  const exact = compileExactPattern(wanted.name)
  const folded = /^\/.*\/\w*$/s.test(wanted.name) ? exact : compileExactPattern(withoutCase(wanted.name))
  return ({ id = '', caseless = false }) => {
    const parts = partsOf(id)
    return isHere(parts) && (caseless ? folded : exact).test(parts.name)
  }
}

/** Lower case for A to Z alone: `toLowerCase` would turn the Kelvin sign (U+212A) into a k, and so one person into another. */
export function withoutCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
