import { randomBytes } from 'node:crypto'
import { escapeText } from 'entities/escape'
import { z } from 'zod'
import { routeSchema } from '../../config/schema/route.ts'
import type { Approval, ApprovalService } from '../../core/approval.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { partsOf, withoutCase } from '../../core/identity.ts'
import { isJsonObject, type Json, pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { defineSkill, type Skill } from '../../core/skill.ts'
import type { KeyValues, Store } from '../../core/store.ts'
import type { PublicHttp } from '../../core/transport.ts'
import type { Gateways } from '../../engine/gateways.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { defined } from '../../lib/defined.ts'
import { escapeUnicode } from '../../lib/escape-controls.ts'
import type { Access } from '../../runtime/access.ts'
import { mailConversation, mayDecideByWords } from './words.ts'

/** Clicks are trusted only in Slack, because Slack proves who clicked. */
const TRANSPORT = 'slack'
const SKILL = 'approval-click'

/** Handles clicks on approval buttons. This route comes before those of the configuration. */
export const CLICK_ROUTE = routeSchema.parse({
  name: SKILL,
  match: { transport: TRANSPORT, 'data.approval.id': '*' },
  skill: SKILL,
})

const APPROVAL_PATH = '/trivium/approval'
/** Key prefix of links, by token: the approval, and the approver who got the link. */
const LINK = 'approval-link:'
const linkSchema = z.object({ id: z.string(), identity: z.string() })
/** How long (ms) a link can still show the outcome. */
const KEPT = 7 * 86_400_000

/**
 * Asks for approvals: in the conversation, and by mail to approvers whose address is known, each
 * with a link of their own.
 */
export function createApprovalAsking(deps: {
  store: Pick<Store, 'journal' | 'kv'>
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  access: Pick<Access, 'expand'>
  gateways: Pick<Gateways, 'spec'>
  /** The public URL of the listener. */
  publicUrl(): string | undefined
}) {
  const { store, outbox, access, gateways } = deps

  const inConversation = async (approval: Approval, message: Message) => {
    const { id, title, by, skill, approvers } = approval
    const members = [...approvers, 'role:operator'].flatMap(access.expand)
    const isHere = (member: string) => ['*', message.gateway].includes(partsOf(member).gateway)
    const buttons = members.some((member) => /^\*+$/.test(member) || isHere(member))
    const args = briefArguments(approval)
    // Slack has buttons instead.
    const hasWords = message.transport !== TRANSPORT && mayDecideByWords(message)
    const byWords = hasWords && (buttons || message.transport === 'cli')
    const data = { approval: { id, title, status: 'pending', by, skill, args, buttons } }
    await outbox.reply(message, { key: `approval:${id}`, text: askForApproval(approval, { byWords }), data })
  }

  const linkFor = async ({ id, expiresAt }: Approval, identity: string) => {
    const publicUrl = deps.publicUrl()
    if (publicUrl === undefined) return undefined
    const token = randomBytes(32).toString('base64url')
    await store.kv.set(LINK + token, { id, identity }, { ttl: expiresAt + KEPT - Date.now() })
    return new URL(`${APPROVAL_PATH}?token=${token}`, publicUrl).href
  }

  const byMail = async (approval: Approval) => {
    const asked = new Set<string>()
    for (const member of approval.approvers.flatMap(access.expand)) {
      const { gateway, name: address } = partsOf(member)
      const spec = gateways.spec(gateway)
      const name = withoutCase(address)
      const identity = `${gateway}:${name}`
      if (spec?.transport !== 'email' || !ADDRESS.test(name) || asked.has(identity)) continue
      asked.add(identity)
      const byWords = pathGet(spec.options, 'allowed-senders') !== undefined
      const text = askForApproval(approval, { link: await linkFor(approval, identity), byWords })
      const subject = `Approval needed: ${approval.title.split('\n')[0]}`
      const key = `approval:${approval.id}:${identity}`
      await outbox.sendTo(gateway, name, { key, subject, text }, mailConversation(approval))
    }
  }

  return {
    async ask(approval: Approval, { message }: { message?: Message }): Promise<void> {
      if (message) await inConversation(approval, message)
      await byMail(approval)
    },
    /** Shows the decision in the same places. Called once an approval is no longer pending. */
    async decided({ id, title, status, decidedBy: by, reason, message: head }: Approval): Promise<void> {
      const message = head && (await store.journal.get(head.id))
      if (message?.transport !== TRANSPORT || status === 'pending') return
      const data = { approval: { id, title, status, ...defined({ by, reason }) } }
      await outbox.reply(message, { key: `approval:${id}:decided`, text: '', data })
    },
  }
}

/** A literal address, not a glob. */
const ADDRESS = /^[^\s*?[\]{}!]+@[^\s*?[\]{}!]+$/

const clickSchema = z.object({ id: z.string(), decision: z.enum(['approve', 'deny']) })

/** The skill that handles clicks on the buttons. */
export function approvalClick(approvals: ApprovalService): Skill {
  return defineSkill<unknown>({
    name: SKILL,
    description: 'Handles clicks on the buttons of an approval.',
    args: z.looseObject({}),
    async run({ message, call }) {
      try {
        const { id, decision } = clickSchema.parse(message?.data.approval)
        await approvals.decide({ id, approve: decision === 'approve' }, call)
        return undefined
      } catch (error) {
        if (error instanceof TriviumError && !error.retryable) return reasonOf(error)
        throw error
      }
    },
  })
}

const BODY_LIMIT = 1000
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}
const HEAD = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Approval</title>
<style>body{font:1rem/1.5 sans-serif;margin:2rem}pre{white-space:pre-wrap}</style><h1>Approval</h1>`

/**
 * The page behind links in mail. Whoever has a link may decide if that approver still may. A GET
 * decides nothing, because mail scanners open links.
 */
export function mountApprovalPage(
  http: PublicHttp,
  kv: KeyValues,
  approvals: ApprovalService,
  callerAs: Access['callerAs'],
): void {
  const answer = async (token: string | null, decision: string | null): Promise<[number, string]> => {
    const kept = await kv.get(LINK + token)
    const link = kept && linkSchema.parse(kept.value)
    const [approval] = link ? await approvals.list({ id: link.id, limit: 1 }) : []
    if (!link || !approval) return [404, '<p>This link is invalid or has expired.</p>']
    if (!decision) return [200, shown(approval)]
    try {
      const call = { caller: callerAs(link.identity) }
      return [200, shown(await approvals.decide({ id: link.id, approve: decision === 'approve' }, call))]
    } catch (error) {
      if (!(error instanceof TriviumError) || error.retryable) throw error
      return [error.status, `<p>${escapeText(reasonOf(error))}</p>`]
    }
  }

  http.mount(APPROVAL_PATH, async (request, response) => {
    const body = new URLSearchParams(String(await http.readBody(request, BODY_LIMIT, '')))
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const decision = request.method === 'POST' ? body.get('decision') : null
    const [status, html] = await answer(searchParams.get('token'), decision)
    response.writeHead(status, HEADERS).end(HEAD + html)
  })
}

/** Removes approval links from a text that others may read, because a link grants the right to decide. */
export function withoutLinks(text: string): string {
  return text.replaceAll(/(\/trivium\/approval\?token=)[\w-]+/g, '$1…')
}

function shown(approval: Approval): string {
  const { status, decidedBy, reason } = approval
  const outcome = [status, decidedBy && `by ${decidedBy}`, reason].filter(Boolean).join(' ')
  const form =
    '<form method="post"><button name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></form>'
  return `<pre>${escapeText(describeApproval(approval))}</pre>${status === 'pending' ? form : `<p>${escapeText(outcome)}</p>`}`
}

/**
 * Invisible characters, characters that change the text direction, and the backtick, which would
 * end a code block.
 */
const UNSEEN = /[`\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/**
 * The arguments as JSON with all characters visible. The message of a dispatched skill is replaced
 * by its id.
 */
function argumentsOf({ args }: Pick<Approval, 'args'>): string {
  const { message } = isJsonObject(args) ? args : {}
  const told: Json = isJsonObject(message) ? { ...Object(args), message: message.id ?? null } : args
  return escapeUnicode(JSON.stringify(told, null, 2), UNSEEN)
}

/** Describes a request: title, requester, skill, and the full arguments by default. */
function describeApproval(approval: Approval, args = argumentsOf(approval)): string {
  const { title, by, skill } = approval
  return `${title}\n\nRequested by: ${by}\n\nSkill: ${skill}\n\nArguments:\n\n${args}`
}

const LONGEST = 2000

/** Shortened arguments, with the command that shows all of them. */
function briefArguments(approval: Approval): string {
  const whole = argumentsOf(approval)
  const more = whole.length - LONGEST
  if (more <= 0) return whole
  return `${whole.slice(0, LONGEST)}…\n(${more} characters more: trivium approval list --id ${approval.id})`
}

type HowToDecide = { link?: string | undefined; byWords?: boolean }

/** The request as Markdown, with shortened arguments and how to decide. */
function askForApproval(approval: Approval, { link, byWords = false }: HowToDecide): string {
  const how = link
    ? `View the full request and decide: ${link}${byWords ? '\n\nOr reply yes or no.' : ''}`
    : `This needs an approval: ${byWords ? 'an approver replies yes or no here, or ' : ''}trivium approval decide --id ${approval.id} --approve`
  return `${describeApproval(approval, `\`\`\`\n${briefArguments(approval)}\n\`\`\``)}\n\n${how}`
}
