import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import type { KeyValues } from '../core/store.ts'
import type { PublicHttp } from '../core/transport.ts'
import { describeApproval } from './approval-words.ts'

const APPROVAL_PATH = '/trivium/approval'

const SECRET_KEY = 'trivium:approval-links'
const BODY_LIMIT = 1000

/**
 * The page behind the links that approvers get by mail. A link is signed, and is the right of one person to decide one
 * approval: whether they still have it is asked when they use it. Looking (GET) decides nothing, as scanners of mail look;
 * a button posts the decision.
 */
export function createApprovalPage(deps: {
  kv: KeyValues
  approvals: Pick<ApprovalService, 'get' | 'decide'>
  callerAs(identity: string): Caller
}) {
  const { kv, approvals, callerAs } = deps

  /** Made once for all daemons of a store. */
  const secret = async (): Promise<string> => {
    const known = await kv.get(SECRET_KEY)
    if (known) return String(known.value)
    await kv.set(SECRET_KEY, randomBytes(32).toString('base64url'), { ifVersion: 0 })
    return secret()
  }
  const sign = async (what: string) =>
    createHmac('sha256', await secret())
      .update(what)
      .digest('base64url')

  const read = async (token: string): Promise<{ id: string; identity: string } | undefined> => {
    const [what = '', signature = ''] = token.split('.')
    const [given, right] = [Buffer.from(signature), Buffer.from(await sign(what))]
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
    const [id, ...identity] = Buffer.from(what, 'base64url').toString().split(' ')
    return { id: id ?? '', identity: identity.join(' ') }
  }

  const answer = async (request: IncomingMessage, body: string): Promise<[status: number, html: string]> => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const link = await read(searchParams.get('token') ?? '')
    const approval = link && (await approvals.get(link.id))
    if (!link || !approval) return [404, '<p>This link is not valid, or what it was about is over.</p>']
    const decision = new URLSearchParams(body).get('decision')
    if (request.method !== 'POST' || !decision) return [200, shown(approval)]
    try {
      const call = { caller: callerAs(link.identity) }
      return [200, shown(await approvals.decide({ id: link.id, approve: decision === 'approve' }, call))]
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      return [error.status, `<p>${escapeHtml(reasonOf(error))}</p>`]
    }
  }

  return {
    /** What follows the address of the public listener in the link for one person. */
    async linkFor({ id }: Pick<Approval, 'id'>, identity: string): Promise<string> {
      const what = Buffer.from(`${id} ${identity}`).toString('base64url')
      return `${APPROVAL_PATH}?token=${what}.${await sign(what)}`
    },
    mountOn(http: PublicHttp) {
      http.mount(APPROVAL_PATH, async (request, response) => {
        const body = await http.readBody(request, BODY_LIMIT, '')
        respond(response, ...(await answer(request, String(body))))
      })
    },
  }
}

function shown(approval: Approval): string {
  const { status, decidedBy, reason } = approval
  const outcome = [status, decidedBy && `by ${decidedBy}`, reason].filter(Boolean).join(' ')
  const form =
    '<form method="post"><button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></form>'
  return `<pre>${escapeHtml(describeApproval(approval))}</pre>${status === 'pending' ? form : `<p>${escapeHtml(outcome)}</p>`}`
}

function respond(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  const style = '<style>body{font:1rem/1.5 sans-serif;margin:2rem}pre{white-space:pre-wrap}</style>'
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Approval</title>${style}<h1>Approval</h1>${html}</html>`,
  )
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
