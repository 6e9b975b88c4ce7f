import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
// Pinned at 2.1.2: newer ones depend on versions that the registry does not have.
import { ImapFlow, type SearchObject } from 'imapflow'
import { inTime } from '../../../src/lib/pause.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'

/** A login to the IMAP server, to be disposed of. */
export type ImapConnection = Awaited<ReturnType<typeof open>>

/** Opens one more connection to the mailbox's server. Rejects where it cannot log in. */
export type ConnectImap = () => Promise<ImapConnection>

/** A connection that nobody uses may be silent for this long: a batch of mails waits for the DNS or the store. */
const SILENCE = 600_000

/** Makes the function that logs in. A server that owes an answer and says nothing for `timeout` ms is taken for dead. */
export function imapConnector(
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timeout = 60_000,
): ConnectImap {
  return async () => {
    try {
      return await open(server, await tokens?.(), timeout)
    } catch (error) {
      const refused = error instanceof Error && 'authenticationFailed' in error
      if (!tokens || !refused) throw error
      return open(server, await tokens('renew'), timeout)
    }
  }
}

async function open(server: ServerOptions, token: string | undefined, timeout: number) {
  const { mode, ...address } = reach(993, server)
  const client = new ImapFlow({
    ...address,
    ...(mode === 'implicit' ? {} : { doSTARTTLS: mode === 'starttls' }),
    auth: { user: server.user ?? '', ...(token ? { accessToken: token } : { pass: server.pass ?? '' }) },
    logger: false,
    // The reader says itself when to IDLE, at once and not after a pause.
    disableAutoIdle: true,
    connectionTimeout: 30_000,
    // While it owes an answer it is watched below.
    socketTimeout: SILENCE,
    clientInfo: { name: 'Trivium' },
  })
  const gone = new AbortController()
  // Attached before connect(): an `error` event that nobody listens to would end the process.
  client.on('error', (error) => {
    gone.abort(error)
    client.close()
  })
  client.on('close', () => gone.abort(new Error('the IMAP server closed the connection')))
  try {
    await client.connect()
  } catch (error) {
    client.close()
    throw readable(error)
  }
  /** Rejects, and closes the connection, after too long a silence: imapflow waits for ever on one that dies beginning to IDLE. */
  const run = async <T>(commands: (client: ImapFlow) => Promise<T>): Promise<T> => {
    const watchdog = watch(client, timeout, gone)
    try {
      const answered = commands(client).then((result) => ({ result }))
      const answer = await inTime(answered, gone.signal)
      // imapflow answers with nothing, and does not throw, where the connection is gone.
      if (!answer || !client.usable) throw gone.signal.reason ?? new Error('the IMAP connection is gone')
      return answer.result
    } catch (error) {
      throw readable(error)
    } finally {
      clearInterval(watchdog)
    }
  }
  // Typed by name, or `tsc` cannot write the declarations of the package.
  const closed: AbortSignal = gone.signal
  return {
    client,
    /** Aborted, with the reason, as soon as the connection is gone. */
    closed,
    run,
    /** The UIDs that are found, in order. imapflow answers false, and does not throw, where a search failed. */
    async search(query: SearchObject): Promise<number[]> {
      const found = await run(() => client.search(query, { uid: true }))
      if (!found) throw new Error('the IMAP server refused to search the folder')
      return found.toSorted((a, b) => a - b)
    },
    [Symbol.dispose]: () => client.close(),
  }
}

/** Closes the connection when nothing comes in for `timeout` ms. */
function watch(client: ImapFlow, timeout: number, gone: AbortController): NodeJS.Timeout {
  let received = client.stats().received
  let progressAt = performance.now()
  return setInterval(() => {
    const now = client.stats().received
    if (now !== received) progressAt = performance.now()
    received = now
    if (performance.now() - progressAt < timeout) return
    gone.abort(new Error(`the IMAP server did not answer for ${Math.round(timeout / 1000)} s`))
    client.close()
  }, timeout / 4)
}

/** How to reach a server, for IMAP and SMTP alike. At the port `implicit`, which is the default, TLS is there from the start. */
export function reach(implicit: number, { host, port = implicit, tls, ca }: ServerOptions) {
  const mode = tls ?? (port === implicit ? 'implicit' : 'starttls')
  const trusted: ConnectionOptions = { minVersion: 'TLSv1.2', ...(ca ? { ca: readFileSync(ca) } : {}) }
  return { mode, host, port, secure: mode === 'implicit', tls: trusted }
}

/** imapflow says "Command failed"; what the server said stands beside it. */
function readable(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const said = 'responseText' in error ? error.responseText : undefined
  if (typeof said === 'string' && said !== '') error.message = `${error.message}: ${said}`
  return withTlsAdvice(error)
}

/** Adds to an error of TLS, of IMAP and SMTP alike, which option mends it. */
export function withTlsAdvice<T>(error: T): T {
  if (!(error instanceof Error)) return error
  const advice = TLS_ADVICE.find(([sign]) => sign.test(error.message))?.[1]
  if (advice && !error.message.includes(advice)) error.message = `${error.message.trim()}; ${advice}`
  return error
}

const TLS_ADVICE: [sign: RegExp, advice: string][] = [
  [/self.signed|unable to (?:verify|get)/i, 'where you know its authority, name its PEM file in `ca`'],
  [/greeting|STARTTLS/i, 'a port that begins with TLS wants `tls: implicit`, one without any `tls: none`'],
  [/wrong version number|packet length/i, 'this port does not begin with TLS: try `tls: starttls`'],
]
