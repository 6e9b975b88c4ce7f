import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { escapeText } from 'entities/escape'
import { z } from 'zod'
import type { Caller } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import type { KeyValues } from '../core/store.ts'
import type { PublicHttp } from '../core/transport.ts'
import { escapeUnicode } from '../lib/escape-controls.ts'

const APPROVAL_PATH = '/trivium/approval'

/** A text without the rights that links in it give: others may read it too. */
export function withoutLinks(text: string): string {
  return text.replaceAll(/(\/trivium\/approval\?token=)[\w-]+/g, '$1…')
}

/** By its token: whose link it is, and for what. */
const LINK = 'approval-link:'
const linkSchema = z.object({ id: z.string(), identity: z.string() })
/** How long a link tells that all is over. */
const KEPT = 7 * 86_400_000
const BODY_LIMIT = 1000

/**
 * The page behind the links that approvers get by mail: whoever has one may decide that approval as that person, who must still
 * have the right then. Looking (GET) decides nothing, as scanners of mail look; a button posts the decision.
 */
export function createApprovalPage(deps: {
  kv: KeyValues
  approvals: Pick<ApprovalService, 'get' | 'decide'>
  callerAs(identity: string): Caller
}) {
  const { kv, approvals, callerAs } = deps

  const answer = async (request: IncomingMessage, body: string): Promise<[status: number, html: string]> => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const kept = await kv.get(LINK + searchParams.get('token'))
    const link = kept && linkSchema.parse(kept.value)
    const approval = link && (await approvals.get(link.id))
    if (!approval) return [404, '<p>This link is not valid, or what it was about is over.</p>']
    const decision = new URLSearchParams(body).get('decision')
    if (request.method !== 'POST' || !decision) return [200, shown(approval)]
    try {
      const call = { caller: callerAs(link.identity) }
      return [200, shown(await approvals.decide({ id: link.id, approve: decision === 'approve' }, call))]
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      return [error.status, `<p>${escapeText(reasonOf(error))}</p>`]
    }
  }

  return {
    /** What follows the address of the public listener in the link for one person. */
    async linkFor({ id, expiresAt }: Approval, identity: string): Promise<string> {
      const token = randomBytes(32).toString('base64url')
      await kv.set(LINK + token, { id, identity }, { ttl: expiresAt + KEPT - Date.now() })
      return `${APPROVAL_PATH}?token=${token}`
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
  return `<pre>${escapeText(describeApproval(approval))}</pre>${status === 'pending' ? form : `<p>${escapeText(outcome)}</p>`}`
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

/** What shows as nothing, or turns other text around, and the backtick that would end a block of code. */
const UNSEEN = /[`\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** The arguments as JSON in which every character is seen. The message of a dispatched skill is named by its id. */
function argumentsOf({ args }: Pick<Approval, 'args'>): string {
  const { message } = isJsonObject(args) ? args : {}
  const told: Json = isJsonObject(message) ? { ...Object(args), message: message.id ?? null } : args
  return escapeUnicode(JSON.stringify(told, null, 2), UNSEEN)
}

/** What is asked: the title, who asks, which skill, and its arguments, here whole. */
function describeApproval(approval: Approval, args = argumentsOf(approval)): string {
  const { title, by, skill } = approval
  return `${title}\n\nAsked for by: ${by}\n\nSkill: ${skill}\n\nArguments:\n\n${args}`
}

const LONGEST = 2000

/** The arguments where there is little room, with the way to the rest. */
export function briefArguments(approval: Approval): string {
  const whole = argumentsOf(approval)
  const more = whole.length - LONGEST
  if (more <= 0) return whole
  return `${whole.slice(0, LONGEST)}…\n(${more} characters more: trivium approval-list --id ${approval.id})`
}

/** What is asked as markdown, with brief arguments and what to do. */
export function askForApproval(approval: Approval, link?: string): string {
  const how = link
    ? `Look at the whole and decide: ${link}`
    : `This needs an approval: trivium approval-decide --id ${approval.id} --approve`
  return `${describeApproval(approval, `\`\`\`\n${briefArguments(approval)}\n\`\`\``)}\n\n${how}`
}
