import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { putLast } from '../../lib/put-last.ts'

/** A person who signed in: by the control token and a claimed name, or at an identity provider. */
const personSchema = z.strictObject({
  via: z.enum(['token', 'oidc']),
  name: z.string().exactOptional(),
  /** The URL of the identity provider. */
  issuer: z.string().exactOptional(),
  /** The id of the person at the provider. */
  subject: z.string().exactOptional(),
  /** Groups at the provider, which determine roles. */
  groups: z.array(z.string()).exactOptional(),
})
const sessionSchema = z.strictObject({ person: personSchema, startedAt: z.number(), expiresAt: z.number() })
const storedSchema = z.strictObject({
  /** A session as JSON text. */
  session: z.string(),
  /** The seal of that text. */
  mac: z.string(),
})

export type Person = z.infer<typeof personSchema>
export type Session = z.infer<typeof sessionSchema>
export type Sessions = ReturnType<typeof createSessions>

const PREFIX = 'console-session:'
/** 32 random bytes in base64url. */
const ID = /^[\w-]{43}$/
/** Maximum number of cached sessions, which are used while the store is unavailable. */
const MAX_CACHED = 1_000

/**
 * The sessions of the console. The browser has a random id. The store has its hash and the session
 * with a MAC by the control token. Reading the store is therefore not enough to sign in, writing to
 * it is not enough to make a session, and a new control token ends all sessions. While the store is
 * unavailable, sessions that this daemon has seen stay valid until they expire.
 */
export function createSessions(deps: { kv: KeyValues; token(): string; now(): number }) {
  const { kv, token, now } = deps
  /**
   * By key, least recently used first. `sealedBy`: the control token at that time. If the token has
   * changed since, the session has ended.
   */
  const cached = new Map<string, { session: Session; sealedBy: string }>()
  const seal = (key: string, session: string) =>
    createHmac('sha256', token()).update(`trivium console session\n${key}\n${session}`).digest('base64url')

  const remember = (key: string, session: Session | undefined) => {
    cached.delete(key)
    if (session) putLast(cached, key, { session, sealedBy: token() }, MAX_CACHED)
    return session
  }
  /**
   * The session in a stored value; undefined if the value was not sealed with the control token.
   */
  const verified = (key: string, value: unknown): Session | undefined => {
    const stored = storedSchema.safeParse(value).data
    if (!stored || !isSame(stored.mac, seal(key, stored.session))) return undefined
    return sessionSchema.safeParse(parseJson(stored.session)).data
  }
  const load = async (key: string): Promise<Session | undefined> => {
    try {
      return remember(key, verified(key, (await kv.get(key))?.value))
    } catch (error) {
      const seen = cached.get(key)
      if (error instanceof TriviumError && error.retryable)
        return seen?.sealedBy === token() ? seen.session : undefined
      throw error
    }
  }

  return {
    /**
     * Starts a session of `lifetime` ms. Returns the id for the cookie. Throws `store_unavailable`.
     */
    async open(person: Person, lifetime: number): Promise<{ id: string; session: Session }> {
      const id = randomBytes(32).toString('base64url')
      const key = keyOf(id)
      const session: Session = { person, startedAt: now(), expiresAt: now() + lifetime }
      const text = JSON.stringify(session)
      await kv.set(key, { session: text, mac: seal(key, text) }, { ttl: lifetime })
      remember(key, session)
      return { id, session }
    },
    /** The session of a cookie; undefined if it has ended or never existed. */
    async read(id: string | undefined): Promise<Session | undefined> {
      if (id === undefined || !ID.test(id)) return undefined
      const session = await load(keyOf(id))
      return session && session.expiresAt > now() ? session : undefined
    },
    /** Ends a session on all daemons. Throws `store_unavailable`. */
    async close(id: string | undefined): Promise<void> {
      if (id === undefined || !ID.test(id)) return
      cached.delete(keyOf(id))
      await kv.delete(keyOf(id))
    },
  }
}

function keyOf(id: string): string {
  return PREFIX + hash('sha256', id, 'base64url')
}

/** Compares in constant time. */
function isSame(first: string, second: string): boolean {
  const a = Buffer.from(first)
  const b = Buffer.from(second)
  return a.length === b.length && timingSafeEqual(a, b)
}
