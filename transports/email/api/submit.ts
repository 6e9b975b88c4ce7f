import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type Json, parseJson } from '../../../src/core/json.ts'
import { SendPostponed, type TransportDeps } from '../../../src/core/transport.ts'
import type { MailApiOptions } from '../api-options.ts'
import type { Submission } from '../outbound/submission.ts'
import type { MailApi } from './mail-api.ts'
import { mailApiOf } from './providers.ts'
import { readyMail } from './ready-mail.ts'

/** Timeout (ms) of a request. */
const WITHIN = 60_000
const MAX_ANSWER = 64 * 1024
/** Pause (ms) after a provider reported too many requests: default, and maximum. */
const [PAUSE, LONGEST] = [5_000, 300_000]
/** Errors before a connection was established, so that nothing was sent. */
const NOT_REACHED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/

/** Sends mail through a provider's API. */
export function createMailApi(
  options: MailApiOptions,
  domain: string,
  { gateway, now }: Pick<TransportDeps, 'gateway' | 'now'>,
): Submission & Pick<MailApi, 'isRenamed'> {
  const api = mailApiOf(options, domain, now)
  const { provider, isRenamed, repeatable, probe } = api
  const closing = new AbortController()
  const failed = (reason: string, cause?: unknown) =>
    new TriviumError('send_failed', { gateway, reason: `${provider}: ${reason}` }, { cause })
  /** The outcome is unknown. It does not matter if the API deduplicates by key. */
  const unknown = (key: string, reason: string, cause?: unknown) =>
    repeatable > 0
      ? failed(reason, cause)
      : new TriviumError('send_ambiguous', { gateway, key, reason: `${provider}: ${reason}` }, { cause })

  const refused = (key: string, response: Response, body: Json | undefined): Error => {
    const { status } = response
    if (status === 429) return new SendPostponed(pauseOf(response.headers))
    const { reason, about } = api.refusal(status, body)
    const said = `${reason} (HTTP ${status})`
    if (status >= 500 && status !== 503) return unknown(key, said)
    const isAboutMail = about === 'mail' && [400, 409, 413, 422].includes(status)
    if (isAboutMail) return new TriviumError('send_rejected', { gateway, reason: `${provider}: ${said}` })
    return failed(said)
  }

  return {
    ...{ name: provider, isApi: true, isRenamed, repeatable },
    async send(mail, key, beforeEnd) {
      const { url, ...request } = await api.request(readyMail(mail, isRenamed), key)
      await beforeEnd?.()
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(WITHIN)])
      try {
        const response = await fetch(url, { ...request, method: 'POST', redirect: 'error', signal })
        const body = await bodyOf(response)
        if (!response.ok) throw refused(key, response, body)
        const { id, messageId } = api.taken(body)
        return { response: `${provider} ${id}`, messageId, refused: [] }
      } catch (error) {
        if (error instanceof TriviumError || error instanceof SendPostponed) throw error
        const { code = '' } = Object(Object(error).cause)
        throw NOT_REACHED.test(code) ? failed(reasonOf(error), error) : unknown(key, reasonOf(error), error)
      }
    },
    async verify() {
      if (!probe) return
      const response = await fetch(probe.url, { headers: probe.headers, signal: AbortSignal.timeout(WITHIN) })
      if (!response.ok) throw failed(api.refusal(response.status, await bodyOf(response)).reason)
    },
    silence: () => 0,
    close: () => closing.abort(),
  }
}

async function bodyOf(response: Response): Promise<Json | undefined> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_ANSWER) break
  }
  return parseJson(text)
}

function pauseOf(headers: Headers): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return seconds > 0 ? Math.min(LONGEST, seconds * 1000) : PAUSE
}
