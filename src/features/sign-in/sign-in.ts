import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import type { RecordAudit } from '../../core/audit.ts'
import { TriviumError, toTriviumError } from '../../core/errors.ts'
import { badRequest } from '../../core/invalid-args.ts'
import { defined } from '../../lib/defined.ts'
import { isLocalName, isLoopback, peerOf } from '../../lib/http.ts'
import {
  type CookieScope,
  cookieHeader,
  cookieName,
  isFromPage,
  isOwnPage,
  isSecure,
  readCookie,
} from './cookies.ts'
import { type Oidc, SIGN_IN_TIMEOUT } from './oidc.ts'
import { failurePage } from './pages.ts'
import { type Bearer, idOf, rightsOf } from './rights.ts'
import type { ConsoleConfig } from './schema.ts'
import type { Person, Session, Sessions } from './sessions.ts'

export type SignIn = ReturnType<typeof createSignIn>

type Deps = {
  sessions: Sessions
  oidc: Oidc
  record: RecordAudit
  console(): ConsoleConfig
  /** Whether a request has the control token as its bearer token. */
  hasControlToken(request: Request): boolean
}

/** The callback path of the provider. */
export const CALLBACK = '/auth/callback'

const COOKIE = 'session'
/** Path and query of a console view, in the characters of URLs. */
const VIEW = /^\/[\w%.~!$&'()*+,;=:@/?-]{0,2000}$/
/** `name`: a name that the holder of the control token claims. */
const bodySchema = z.strictObject({
  name: z
    .string()
    .trim()
    .regex(/^[\p{L}\p{M}\p{N} ._@'-]{0,64}$/u, "expected up to 64 letters, digits, spaces and . _ @ ' -")
    .default(''),
})

/** Signs people in to the console, recognises their cookies, and signs them out. */
export function createSignIn(deps: Deps) {
  const cookies = createCookies(deps)
  const { sessions } = deps

  /**
   * Starts a session, always with a new id: an id that someone has set in the browser is useless.
   */
  const begin = async (request: Request, response: Response, person: Person): Promise<Session> => {
    await sessions.close(cookies.read(request, COOKIE))
    const lifetime = deps.console().session
    const { id, session } = await sessions.open(person, lifetime)
    cookies.set(request, response, COOKIE, { value: id, lifetime, sameSite: 'Strict' })
    await recordAudit(deps, request, 'sign-in', idOf(person))
    return session
  }

  const start: RequestHandler = async (request, response) => {
    // A program sends no headers of a page, and needs none: only the token counts.
    if (isFromPage(request) && !isOwnPage(request)) throw foreignPage()
    if (!deps.hasControlToken(request)) throw new TriviumError('unauthorized')
    const { data, error } = bodySchema.safeParse(request.body ?? {})
    if (!data) throw badRequest(error, request.body)
    const person: Person = { via: 'token', ...(data.name && { name: data.name }) }
    const session = await begin(request, response, person)
    response.json({ result: shown(session, deps.console()) })
  }

  const end: RequestHandler = async (request, response) => {
    const id = cookies.read(request, COOKIE)
    if (id !== undefined && !isOwnPage(request)) throw foreignPage()
    cookies.set(request, response, COOKIE, { value: '', lifetime: 0, sameSite: 'Strict' })
    const session = await sessions.read(id)
    await sessions.close(id)
    if (session) await recordAudit(deps, request, 'sign-out', idOf(session.person))
    response.json({ result: { ok: true } })
  }

  const show: RequestHandler = async (request, response) => {
    const session = await sessions.read(cookies.read(request, COOKIE))
    const { oidc } = deps.console()
    const methods = {
      signIn: ['token', ...(oidc ? ['oidc'] : [])],
      ...(oidc && { provider: new URL(oidc.issuer).host }),
    }
    response.json({ result: { ...methods, ...(session && shown(session, deps.console())) } })
  }

  return {
    /**
     * The caller by the cookie of a request. Throws `forbidden` for requests made by other web
     * pages.
     */
    async bearerOf(request: Request): Promise<Bearer | undefined> {
      const id = cookies.read(request, COOKIE)
      if (id === undefined) return undefined
      const session = await sessions.read(id)
      if (session && !isOwnPage(request)) throw foreignPage()
      return session && rightsOf(session.person, deps.console())
    },
    /**
     * For a change of the control token, which ends all sessions: reads the session of a request,
     * and returns a function that begins it again.
     */
    async keep(request: Request): Promise<(response: Response) => Promise<unknown>> {
      const session = await sessions.read(cookies.read(request, COOKIE))
      return async (response) => session && begin(request, response, session.person)
    },
    /** Signs in with the control token. */
    start,
    /** Signs out. */
    end,
    /** The ways to sign in, and the person who is signed in. */
    show,
    ...createProviderSignIn(deps, cookies, begin),
  }
}

/** The redirects to and from the provider. Errors become a page, because a person is waiting. */
function createProviderSignIn(
  deps: Deps,
  cookies: ReturnType<typeof createCookies>,
  begin: (request: Request, response: Response, person: Person) => Promise<Session>,
) {
  const { oidc } = deps
  const settings = () => {
    const options = deps.console().oidc
    if (!options)
      throw new TriviumError('not_found', { path: 'sign-in at a provider: `console: { oidc }` is not set' })
    return options
  }
  /** Redirects the browser to the URL that `step` returns. */
  const redirecting =
    (step: (request: Request, response: Response) => Promise<string>): RequestHandler =>
    async (request, response) => {
      try {
        response.redirect(303, await step(request, response))
      } catch (error) {
        const failure = toTriviumError(error)
        response.status(failure.status).type('html').send(failurePage(failure))
      }
    }

  return {
    toProvider: redirecting(async (request, response) => {
      const callback = new URL(CALLBACK, originOf(request, deps.console()))
      const { to, state, cookie } = await oidc.begin(settings(), callback.href, viewIn(request.query.at))
      cookies.set(request, response, pendingName(state), {
        value: cookie,
        lifetime: SIGN_IN_TIMEOUT,
        sameSite: 'Lax',
      })
      return to
    }),
    fromProvider: redirecting(async (request, response) => {
      const options = settings()
      const current = new URL(request.originalUrl, originOf(request, deps.console()))
      const name = pendingName(String(request.query.state))
      const pending = cookies.read(request, name)
      cookies.set(request, response, name, { value: '', lifetime: 0, sameSite: 'Lax' })
      const { person, at } = await oidc.finish(options, current, pending)
      if (!rightsOf(person, deps.console())) {
        await recordAudit(deps, request, 'sign-in', idOf(person), 'sign_in_refused')
        throw new TriviumError('sign_in_refused', { who: idOf(person) })
      }
      await begin(request, response, person)
      return at === '' ? '/' : `/#${at}`
    }),
  }
}

function recordAudit(
  { record }: Pick<Deps, 'record'>,
  request: Request,
  action: 'sign-in' | 'sign-out',
  by: string,
  outcome = 'ok',
): Promise<void> {
  return record({ by, via: 'console', action, outcome, from: peerOf(request) })
}

/** The name of the cookie of a sign-in. Each has its own, so that two tabs do not interfere. */
function pendingName(state: string): string {
  return `sign-in-${state.replaceAll(/[^\w-]/g, '').slice(0, 8)}`
}

/**
 * A console view: the part after `#`. It is always appended to `/#`, so it cannot lead to another
 * site.
 */
function viewIn(value: unknown): string {
  return typeof value === 'string' && VIEW.test(value) ? value : ''
}

/**
 * The origin of the console. Without `console: { url }`, that of the request, which must come from
 * this machine.
 */
function originOf(request: Request, { url }: ConsoleConfig): string {
  if (url !== undefined) return url
  const { host } = request.headers
  if (host !== undefined && isLocalName(host) && isLoopback(request.socket.localAddress ?? ''))
    return `http://${host}`
  throw new TriviumError('sign_in_failed', { reason: 'set `console: { url }` to the URL of the console' })
}

/** The cookies of a request, by purpose. */
function createCookies({ console: settings }: Pick<Deps, 'console'>) {
  const usesHttps = (request: Request) => isSecure(request, settings().url)
  type Setting = { value: string } & Omit<CookieScope, 'path'>
  return {
    read: (request: Request, what: string) =>
      readCookie(request, cookieName(what, request, usesHttps(request))),
    set(request: Request, response: Response, what: string, { value, ...scope }: Setting): void {
      const isHttps = usesHttps(request)
      const name = cookieName(what, request, isHttps)
      response.append('set-cookie', cookieHeader(name, value, { path: '/', ...scope }, isHttps))
    },
  }
}

/** A session as the console gets it; empty if the person may no longer sign in. */
function shown({ person, expiresAt }: Session, config: ConsoleConfig) {
  const rights = rightsOf(person, config)
  if (!rights) return {}
  const { id = '', roles = [], skills } = rights
  const { via, name = person.subject ?? 'operator' } = person
  return { person: { id, roles, via, name, ...defined({ skills }) }, expiresAt }
}

function foreignPage(): TriviumError {
  return new TriviumError('forbidden', {
    what: 'A request of another web page',
    reason: 'the cookie of the console only works for its own pages; programs must send a bearer token',
  })
}
