import { readFileSync } from 'node:fs'
import { type ConnectionOptions, createSecureContext, getCACertificates, type SecureContext } from 'node:tls'
// Pinned at 2.1.2: newer versions depend on unavailable packages.
import { ImapFlow, type SearchObject } from 'imapflow'
import { inTime } from '../../../src/lib/pause.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'

/** A disposable connection to the IMAP server. */
export type ImapConnection = Awaited<ReturnType<typeof open>>

/** Opens another connection to the mailbox's server. Rejects if the login fails. */
export type ConnectImap = () => Promise<ImapConnection>

/**
 * Maximum silence of an unused connection, for example while a batch waits for DNS or the store.
 */
const IDLE_TIMEOUT_MS = 600_000
const CONNECT_TIMEOUT_MS = 30_000
const IMAPS_PORT = 993

/** Creates a login function. A server that does not respond for `timeout` ms counts as dead. */
export function imapConnector(
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timeout = 60_000,
): ConnectImap {
  return async () => {
    try {
      return await open(server, await tokens?.(), timeout)
    } catch (error) {
      const isLoginRefused = error instanceof Error && 'authenticationFailed' in error
      if (!tokens || !isLoginRefused) throw error
      return open(server, await tokens('renew'), timeout)
    }
  }
}

async function open(server: ServerOptions, token: string | undefined, timeout: number) {
  const { mode, ...address } = endpointOf(IMAPS_PORT, server)
  const client = new ImapFlow({
    ...address,
    ...(mode === 'implicit' ? {} : { doSTARTTLS: mode === 'starttls' }),
    auth: { user: server.user ?? '', ...(token ? { accessToken: token } : { pass: server.pass ?? '' }) },
    logger: false,
    // The reader starts IDLE itself, without a delay.
    disableAutoIdle: true,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    // While a command runs, `watch` has a shorter limit.
    socketTimeout: IDLE_TIMEOUT_MS,
    clientInfo: { name: 'Trivium' },
  })
  const lost = new AbortController()
  // Attached before connect(), because an `error` event without a listener would end the process.
  client.on('error', (error) => {
    lost.abort(error)
    client.close()
  })
  client.on('close', () => lost.abort(new Error('the IMAP server closed the connection')))
  try {
    await client.connect()
  } catch (error) {
    client.close()
    throw withServerText(error)
  }
  /**
   * Runs commands. Rejects and closes the connection after `timeout` ms without data: imapflow
   * waits forever if the connection dies at the start of IDLE.
   */
  const run = async <T>(commands: (client: ImapFlow) => Promise<T>): Promise<T> => {
    const watchdog = watch(client, timeout, lost)
    try {
      const work = commands(client).then((result) => ({ result }))
      const answer = await inTime(work, lost.signal)
      // imapflow returns nothing instead of throwing if the connection is lost.
      if (!answer || !client.usable) throw lost.signal.reason ?? new Error('the IMAP connection was lost')
      return answer.result
    } catch (error) {
      throw withServerText(error)
    } finally {
      clearInterval(watchdog)
    }
  }
  // An explicit type, because `tsc` cannot emit the package's declarations otherwise.
  const closed: AbortSignal = lost.signal
  return {
    client,
    /** Aborts with the reason when the connection is lost. */
    closed,
    run,
    /**
     * The matching UIDs, in order. imapflow returns false instead of throwing if a search fails.
     */
    async search(query: SearchObject): Promise<number[]> {
      const found = await run(() => client.search(query, { uid: true }))
      if (!found) throw new Error('the IMAP server refused to search the folder')
      return found.toSorted((a, b) => a - b)
    },
    [Symbol.dispose]: () => client.close(),
  }
}

/** Closes the connection after `timeout` ms without data. */
function watch(client: ImapFlow, timeout: number, lost: AbortController): NodeJS.Timeout {
  let received = client.stats().received
  let progressAt = performance.now()
  return setInterval(() => {
    const now = client.stats().received
    if (now !== received) progressAt = performance.now()
    received = now
    if (performance.now() - progressAt < timeout) return
    lost.abort(new Error(`the IMAP server did not answer for ${Math.round(timeout / 1000)} s`))
    client.close()
  }, timeout / 4)
}

/** Connection options for IMAP and SMTP. `tlsPort` (the default port) uses TLS from the start. */
export function endpointOf(tlsPort: number, { host, port = tlsPort, tls, ca }: ServerOptions) {
  const mode = tls ?? (port === tlsPort ? 'implicit' : 'starttls')
  const trusted: ConnectionOptions = ca ? { secureContext: contextWith(ca) } : { minVersion: MIN_TLS }
  return { mode, host, port, secure: mode === 'implicit', tls: trusted }
}

const MIN_TLS = 'TLSv1.2'
/** Contexts by their additional certificates. Making one takes a tenth of a second. */
const contexts = new Map<string, SecureContext>()

/**
 * Trusts the certificate authorities of the system and those of a PEM file; Node's `ca` replaces
 * the former.
 */
function contextWith(file: string): SecureContext {
  const added = readFileSync(file, 'utf8')
  const context =
    contexts.get(added) ??
    createSecureContext({ minVersion: MIN_TLS, ca: [...getCACertificates('default'), added] })
  contexts.set(added, context)
  return context
}

/** Adds the server's text to imapflow's "Command failed". */
function withServerText(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const text = 'responseText' in error ? error.responseText : undefined
  if (typeof text === 'string' && text !== '') error.message = `${error.message}: ${text}`
  return withTlsAdvice(error)
}

/** Adds the option that may help to the message of a TLS error of IMAP or SMTP. */
export function withTlsAdvice<T>(error: T): T {
  if (!(error instanceof Error)) return error
  const advice = TLS_ADVICE.find(([pattern]) => pattern.test(error.message))?.[1]
  if (advice && !error.message.includes(advice)) error.message = `${error.message.trim()}; ${advice}`
  return error
}

const TLS_ADVICE: [pattern: RegExp, advice: string][] = [
  [
    /self.signed|unable to (?:verify|get)/i,
    'if you trust its certificate authority, set `ca` to its PEM file',
  ],
  [/greeting|STARTTLS/i, 'set `tls: implicit` if the port begins with TLS, or `tls: none` if it has none'],
  [/wrong version number|packet length/i, 'this port does not begin with TLS: try `tls: starttls`'],
]
