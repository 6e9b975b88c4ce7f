import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
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
  /** Google calls it `verification_url`. */
  verification_uri: z.url().optional(),
  verification_url: z.url().optional(),
  expires_in: z.coerce.number().positive(),
  interval: z.coerce.number().min(0).default(5),
})

const grantSchema = z.object({ access_token: z.string(), refresh_token: z.string().min(1).optional() })
const refusalSchema = z.object({ error: z.string(), error_description: z.string().optional() })

/** The provider's words when it wants to be asked less often: 5 s more each time (RFC 8628, section 3.5). */
const SLOWER = 5
const TIMEOUT = 15_000

/**
 * Logs a person in by the device authorization grant (RFC 8628): `show` tells them where, and the provider is asked
 * until they have done it. Resolves with the refresh token. Throws `login_failed` where the provider refuses, the
 * person does, or the time is over.
 */
export async function deviceLogin(login: DeviceLogin, show: (prompt: DevicePrompt) => void): Promise<string> {
  const client = {
    client_id: login.clientId,
    ...(login.clientSecret ? { client_secret: login.clientSecret } : {}),
  }
  const asked = await ask(login, client)
  const prompt = promptSchema.parse(asked)
  const url = prompt.verification_uri ?? prompt.verification_url ?? ''
  show({ url: url, code: prompt.user_code, seconds: prompt.expires_in })

  const grant = {
    ...client,
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: prompt.device_code,
  }
  let interval = prompt.interval
  for (const end = performance.now() + prompt.expires_in * 1000; performance.now() < end; ) {
    await pause(interval * 1000)
    // While the person types, a lost connection or a server in trouble is no answer (RFC 8628, section 3.5).
    const answer = await post(login.tokenUrl, grant).catch(() => undefined)
    if (answer?.ok) return refreshTokenIn(answer.body)
    const { error } = refusalSchema.safeParse(answer?.body).data ?? {}
    if (error === 'slow_down') interval += SLOWER
    else if (!answer || answer.status >= 500) interval += 1
    else if (error !== 'authorization_pending') throw failed(answer.body)
  }
  throw new TriviumError('login_failed', { reason: `nobody typed ${prompt.user_code} in time` })
}

async function ask(login: DeviceLogin, client: Record<string, string>): Promise<unknown> {
  let answer: Awaited<ReturnType<typeof post>>
  try {
    answer = await post(login.deviceUrl, { ...client, scope: login.scope })
  } catch (cause) {
    const reason = `${login.deviceUrl} cannot be reached: ${reasonOf(cause)}`
    throw new TriviumError('login_failed', { reason }, { cause })
  }
  if (answer.ok) return answer.body
  throw failed(answer.body)
}

function refreshTokenIn(body: unknown): string {
  const token = grantSchema.parse(body).refresh_token
  if (token) return token
  const reason = 'the provider gave no refresh token; the scope must have offline_access'
  throw new TriviumError('login_failed', { reason })
}

type Answer = { ok: boolean; status: number; body: unknown }

async function post(url: string, form: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams(form),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT),
  })
  const { ok, status } = response
  return { ok, status, body: await response.json().catch(() => undefined) }
}

function failed(body: unknown): TriviumError {
  const { error = 'it answered with no reason', error_description: more } =
    refusalSchema.safeParse(body).data ?? {}
  const [line = ''] = (more ?? '').split(/\r?\n/)
  return new TriviumError('login_failed', { reason: line ? `${error}: ${line}` : error })
}
