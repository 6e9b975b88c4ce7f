import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { defined } from '../lib/defined.ts'
import { pause } from '../lib/pause.ts'

/** Where a provider lets people log in on another device, and what is asked for. */
export type DeviceLogin = {
  deviceUrl: string
  tokenUrl: string
  clientId: string
  /** Public clients have none. */
  clientSecret?: string
  scope: string
}

/** What the person has to do: open `url` on any device and type `code`, within `seconds`. */
export type DevicePrompt = { url: string; code: string; seconds: number }

const promptSchema = z.object({
  device_code: z.string().min(1),
  user_code: z.string().min(1),
  verification_uri: z.url(),
  expires_in: z.coerce.number().positive(),
  interval: z.coerce.number().min(0).default(5),
})

const grantSchema = z.object({ access_token: z.string(), refresh_token: z.string().min(1).optional() })
const refusalSchema = z.object({ error: z.string(), error_description: z.string().default('') })

const TIMEOUT = 15_000

/**
 * Logs a person in by the device authorization grant (RFC 8628): `show` tells them where, and the provider is asked
 * until they have done it. Resolves with the refresh token. Throws `login_failed` where the provider refuses, the
 * person does, or the time is over.
 */
export async function deviceLogin(login: DeviceLogin, show: (prompt: DevicePrompt) => void): Promise<string> {
  const { deviceUrl, tokenUrl, clientId, clientSecret, scope } = login
  const client = { client_id: clientId, ...defined({ client_secret: clientSecret }) }
  const asked = await post(deviceUrl, { ...client, scope }).catch((cause) => {
    throw failed(`${deviceUrl} cannot be reached: ${reasonOf(cause)}`, cause)
  })
  if (!asked.ok) throw refused(asked.body)
  const prompt = promptSchema.parse(asked.body)
  show({ url: prompt.verification_uri, code: prompt.user_code, seconds: prompt.expires_in })

  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const end = performance.now() + prompt.expires_in * 1000
  for (let { interval } = prompt; performance.now() < end; ) {
    await pause(interval * 1000)
    // While the person types, a lost connection or a server in trouble is no answer (RFC 8628, section 3.5).
    const form = { ...client, grant_type, device_code: prompt.device_code }
    const answer = await post(tokenUrl, form).catch(() => undefined)
    if (answer?.ok) {
      const token = grantSchema.parse(answer.body).refresh_token
      if (token) return token
      throw failed('the provider gave no refresh token; the scope must have offline_access')
    }
    const { error } = refusalSchema.safeParse(answer?.body).data ?? {}
    if (error === 'slow_down') interval += 5
    else if (!answer || answer.status >= 500) interval += 1
    else if (error !== 'authorization_pending') throw refused(answer.body)
  }
  throw failed(`nobody typed ${prompt.user_code} in time`)
}

async function post(url: string, form: Record<string, string>) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(form),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
  })
  const body: unknown = await response.json().catch(() => undefined)
  return { ok: response.ok, status: response.status, body }
}

function refused(body: unknown): TriviumError {
  const { data } = refusalSchema.safeParse(body)
  const [line] = (data?.error_description ?? '').split(/\r?\n/)
  return failed([data?.error ?? 'it answered with no reason', line].filter(Boolean).join(': '))
}

function failed(reason: string, cause?: unknown): TriviumError {
  return new TriviumError('login_failed', { reason }, { cause })
}
