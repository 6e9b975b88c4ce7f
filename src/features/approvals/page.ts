import { escapeText } from 'entities/escape'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { KeyValues } from '../../core/store.ts'
import type { PublicHttp } from '../../core/transport.ts'
import type { Access } from '../../runtime/access.ts'
import { APPROVAL_PATH, findLink } from './links.ts'
import { describeApproval } from './request-text.ts'

const MAX_BODY_BYTES = 1000
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const PAGE_START = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Approval</title>
<style>body{font:1rem/1.5 sans-serif;margin:2rem}pre{white-space:pre-wrap}</style><h1>Approval</h1>`
const FORM =
  '<form method="post"><button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></form>'

/**
 * Mounts the page behind links in mail. The holder of a link may decide as long as the approver who
 * got it may. A GET decides nothing, because mail scanners open links.
 */
export function mountApprovalPage(
  http: PublicHttp,
  kv: KeyValues,
  approvals: ApprovalService,
  callerAs: Access['callerAs'],
): void {
  const respond = async (
    token: string,
    decision: string | null,
  ): Promise<{ status: number; html: string }> => {
    const link = await findLink(kv, token)
    const [approval] = link ? await approvals.list({ id: link.id, limit: 1 }) : []
    if (!link || !approval) return { status: 404, html: '<p>This link is invalid or has expired.</p>' }
    if (!decision) return { status: 200, html: approvalHtml(approval) }
    try {
      const call = { caller: callerAs(link.identity) }
      const decided = await approvals.decide({ id: link.id, approve: decision === 'approve' }, call)
      return { status: 200, html: approvalHtml(decided) }
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      return { status: error.status, html: `<p>${escapeText(reasonOf(error))}</p>` }
    }
  }

  http.mount(APPROVAL_PATH, async (request, response) => {
    const body = new URLSearchParams(String(await http.readBody(request, MAX_BODY_BYTES, '')))
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const decision = request.method === 'POST' ? body.get('decision') : null
    const { status, html } = await respond(searchParams.get('token') ?? '', decision)
    response.writeHead(status, HEADERS).end(PAGE_START + html)
  })
}

/** The request in full, with the form or the decision. */
function approvalHtml(approval: Approval): string {
  const { status, decidedBy, reason } = approval
  const outcome = [status, decidedBy && `by ${decidedBy}`, reason].filter(Boolean).join(' ')
  const end = status === 'pending' ? FORM : `<p>${escapeText(outcome)}</p>`
  return `<pre>${escapeText(describeApproval(approval))}</pre>${end}`
}
