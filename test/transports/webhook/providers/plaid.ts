import { generateKeyPairSync, hash } from 'node:crypto'
import { exportJWK, SignJWT } from 'jose'
import type { Sample } from './sample.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
export const KEY_ID = 'bfbd5111-8e33-4643-8ced-b2e642a72f3c'

/** What Plaid answers for the key with this id. */
export async function plaidKey(id: unknown, more: object = {}): Promise<Response> {
  if (id !== KEY_ID)
    return Response.json({ error_code: 'INVALID_WEBHOOK_VERIFICATION_KEY_ID' }, { status: 400 })
  const key = { ...(await exportJWK(pair.publicKey)), alg: 'ES256', kid: KEY_ID, use: 'sig', created_at: 1 }
  return Response.json({ key: { ...key, expired_at: null, ...more }, request_id: 'r1' })
}

/** The header of a webhook. `own`: other claims or another key id. */
export async function signedByPlaid(body: string, at: number, own: { kid?: string } = {}) {
  const token = new SignJWT({ request_body_sha256: hash('sha256', body) })
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: own.kid ?? KEY_ID })
    .setIssuedAt(Math.floor(at / 1000))
  return { 'plaid-verification': await token.sign(pair.privateKey) }
}

export const PLAID_SAMPLE: Sample = {
  body: {
    webhook_type: 'TRANSACTIONS',
    webhook_code: 'SYNC_UPDATES_AVAILABLE',
    item_id: 'wz666MBjYWTp2PDzzggYhM6oWWmBb',
  },
  sign: (body, at) => signedByPlaid(body, at),
}
