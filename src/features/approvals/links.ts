import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Approval } from '../../core/approval.ts'
import type { KeyValues, Store } from '../../core/store.ts'
import { RETENTION_MS } from './approval-records.ts'

/** Path of the page behind the links. */
export const APPROVAL_PATH = '/trivium/approval'
/** Key prefix of the links, by token. */
const LINK_PREFIX = 'approval-link:'
/** What a link grants: deciding approval `id` with the rights of `identity`, who got the link. */
const linkSchema = z.object({ id: z.string(), identity: z.string() })

/**
 * Makes the link with which one approver may decide. It outlives the request, to show the outcome.
 * Undefined without a public URL.
 */
export async function createLink(
  deps: { store: Pick<Store, 'kv'>; publicUrl(): string | undefined; now(): number },
  { id, expiresAt }: Approval,
  identity: string,
): Promise<string | undefined> {
  const publicUrl = deps.publicUrl()
  if (publicUrl === undefined) return undefined
  const token = randomBytes(32).toString('base64url')
  const ttl = expiresAt + RETENTION_MS - deps.now()
  await deps.store.kv.set(LINK_PREFIX + token, { id, identity }, { ttl })
  return new URL(`${APPROVAL_PATH}?token=${token}`, publicUrl).href
}

/** The approval and the approver of a link; undefined if the token is unknown or has expired. */
export async function findLink(kv: Pick<KeyValues, 'get'>, token: string) {
  const stored = await kv.get(LINK_PREFIX + token)
  return stored && linkSchema.parse(stored.value)
}

/**
 * Removes the tokens of approval links from a text that others may read: a token grants the right
 * to decide.
 */
export function withoutLinks(text: string): string {
  return text.replaceAll(/(\/trivium\/approval\?token=)[\w-]+/g, '$1…')
}
