import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type Json, parseJson } from '../../../src/core/json.ts'
import { SendPostponed, type TransportDeps } from '../../../src/core/transport.ts'
import { neverConnected } from '../../../src/lib/never-connected.ts'
import type { MailApiOptions } from '../api-options.ts'
import type { Submission } from '../outbound/submission.ts'
import type { MailApi } from './mail-api.ts'
import { mailApiOf } from './providers.ts'
import { readyMail } from './ready-mail.ts'

/** Timeout of a request. */
const TIMEOUT_MS = 60_000
/** Maximum characters of a response that are read. */
const MAX_RESPONSE = 64 * 1024
/** Pause after HTTP 429 without `Retry-After`. */
const DEFAULT_PAUSE_MS = 5_000
/** Maximum pause after HTTP 429 with `Retry-After`. */
const MAX_PAUSE_MS = 300_000

/** Sends mail through a provider's API. */
export function createMailApi(
  options: MailApiOptions,
  domain: string,
  { gateway, now }: Pick<TransportDeps, 'gateway' | 'now'>,
): Submission & Pick<MailApi, 'replacesMessageId'> {
  const api = mailApiOf(options, domain, now)
  const { provider, replacesMessageId, repeatableMs, probe } = api
  const closing = new AbortController()
  const failure = (reason: string, cause?: unknown) =>
    new TriviumError('send_failed', { gateway, reason: `${provider}: ${reason}` }, { cause })
  /**
   * The error if the mail may have been sent. If the API deduplicates by key, it can simply be sent
   * again.
   */
  const ambiguous = (key: string, reason: string, cause?: unknown) =>
    repeatableMs > 0
      ? failure(reason, cause)
      : new TriviumError('send_ambiguous', { gateway, key, reason: `${provider}: ${reason}` }, { cause })

  const errorOf = (key: string, response: Response, body: Json | undefined): Error => {
    const { status } = response
    if (status === 429) return new SendPostponed(pauseOf(response.headers))
    const { reason: explanation, about } = api.refusal(status, body)
    const reason = `${explanation} (HTTP ${status})`
    // 503 says that the request was not processed.
    if (status >= 500 && status !== 503) return ambiguous(key, reason)
    const isAboutMail = about === 'mail' && [400, 409, 413, 422].includes(status)
    if (isAboutMail) return new TriviumError('send_rejected', { gateway, reason: `${provider}: ${reason}` })
    return failure(reason)
  }

  return {
    name: provider,
    isApi: true,
    replacesMessageId,
    repeatableMs,
    async send(mail, key, beforeEnd) {
      const { url, ...request } = await api.request(readyMail(mail, replacesMessageId), key)
      await beforeEnd?.()
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(TIMEOUT_MS)])
      try {
        const response = await fetch(url, { ...request, method: 'POST', redirect: 'error', signal })
        const body = await bodyOf(response)
        if (!response.ok) throw errorOf(key, response, body)
        const { id, messageId } = api.accepted(body)
        return { response: `${provider} ${id}`, messageId, refused: [] }
      } catch (error) {
        if (error instanceof TriviumError || error instanceof SendPostponed) throw error
        const reason = reasonOf(error)
        throw neverConnected(error) ? failure(reason, error) : ambiguous(key, reason, error)
      }
    },
    async verify() {
      if (!probe) return
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(probe.url, { headers: probe.headers, signal })
      if (!response.ok) throw failure(api.refusal(response.status, await bodyOf(response)).reason)
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
    if (text.length > MAX_RESPONSE) break
  }
  return parseJson(text)
}

function pauseOf(headers: Headers): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return seconds > 0 ? Math.min(MAX_PAUSE_MS, seconds * 1000) : DEFAULT_PAUSE_MS
}
