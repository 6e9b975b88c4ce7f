import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import type { Caller } from '../../core/call.ts'
import type { ConsoleConfig } from '../../core/console.ts'
import { TriviumError } from '../../core/errors.ts'
import { cookieHeader, cookieName, isOfBrowser, isOwnPage, isSecure, readCookie } from './cookies.ts'
import type { Person, Session, Sessions } from './sessions.ts'

export type SignIn = ReturnType<typeof createSignIn>

/** Who calls, and their rights. */
type Bearer = Omit<Caller, 'kind'>

const COOKIE = 'session'
/** A name that somebody gives beside the control token: letters, digits and what stands in names and addresses. */
const bodySchema = z.strictObject({
  name: z
    .string()
    .trim()
    .regex(/^[\p{L}\p{M}\p{N} ._@'-]{0,64}$/u, "expected up to 64 letters, digits, spaces and . _ @ ' -")
    .default(''),
})

/** Signs people in to the console, recognises them by their cookie and signs them out. */
export function createSignIn(deps: {
  sessions: Sessions
  console(): ConsoleConfig
  /** Whether a request has the control token as its bearer token. */
  hasControlToken(request: Request): boolean
}) {
  const { sessions } = deps
  const secure = (request: Request) => isSecure(request, deps.console().url)
  const idIn = (request: Request) => readCookie(request, cookieName(COOKIE, request, secure(request)))

  const setCookie = (request: Request, response: Response, value: string, lifetime: number) => {
    const isHttps = secure(request)
    const scope = { path: '/', lifetime, sameSite: 'Strict' } as const
    response.append('set-cookie', cookieHeader(cookieName(COOKIE, request, isHttps), value, scope, isHttps))
  }

  /** A new id at every sign-in: one that was planted in the browser before is worth nothing. */
  const begin = async (request: Request, response: Response, person: Person): Promise<Session> => {
    await sessions.close(idIn(request))
    const lifetime = deps.console().session
    const { id, session } = await sessions.open(person, lifetime)
    setCookie(request, response, id, lifetime)
    return session
  }

  const start: RequestHandler = async (request, response) => {
    // Programs say nothing about pages, and no page can send the token without CORS.
    if (isOfBrowser(request) && !isOwnPage(request)) throw foreignPage()
    if (!deps.hasControlToken(request)) throw new TriviumError('unauthorized')
    const { data, error } = bodySchema.safeParse(request.body ?? {})
    if (!data) throw new TriviumError('bad_request', { reason: z.prettifyError(error) })
    const person: Person = { via: 'token', ...(data.name && { name: data.name }) }
    response.json({ result: shown(await begin(request, response, person)) })
  }

  const end: RequestHandler = async (request, response) => {
    const id = idIn(request)
    if (id !== undefined && !isOwnPage(request)) throw foreignPage()
    setCookie(request, response, '', 0)
    await sessions.close(id)
    response.json({ result: { ok: true } })
  }

  const show: RequestHandler = async (request, response) => {
    const session = await sessions.read(idIn(request))
    response.json({ result: session ? shown(session) : { signIn: ['token'] } })
  }

  return {
    /** The caller behind the cookie of a request. Throws `forbidden` for a request that another web page made. */
    async bearerOf(request: Request): Promise<Bearer | undefined> {
      const id = idIn(request)
      if (id === undefined) return undefined
      const session = await sessions.read(id)
      if (session && !isOwnPage(request)) throw foreignPage()
      return session && rightsOf(session.person)
    },
    start,
    end,
    show,
  }
}

/** Whoever holds the control token is an operator; their name is what they say it is. */
function rightsOf({ name }: Person): Bearer {
  return { id: name === undefined ? CONTROL_TOKEN : `${CONTROL_TOKEN}:${name}`, roles: ['operator'] }
}

const CONTROL_TOKEN = 'control-token'

function shown({ person, expiresAt }: Session) {
  const { id, roles } = rightsOf(person)
  return { person: { id, roles, via: person.via, name: person.name ?? 'operator' }, expiresAt }
}

function foreignPage(): TriviumError {
  return new TriviumError('forbidden', {
    what: 'A request of another web page',
    reason: 'the cookie of the console is for its own pages; programs send a bearer token',
  })
}
