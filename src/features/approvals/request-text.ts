import type { Approval } from '../../core/approval.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { escapeUnicode } from '../../lib/escape-controls.ts'

type HowToDecide = {
  link?: string | undefined
  /** Whether a reply of "yes" or "no" decides. */
  byWords: boolean
}

/**
 * The question for approvers, as Markdown: the request with shortened arguments, and how to decide.
 */
export function approvalQuestion(approval: Approval, how: HowToDecide): string {
  const args = `\`\`\`\n${shortArguments(approval)}\n\`\`\``
  return `${describeApproval(approval, args)}\n\n${howToDecide(approval, how)}`
}

function howToDecide({ id }: Approval, { link, byWords }: HowToDecide): string {
  if (link) return `View the full request and decide: ${link}${byWords ? '\n\nOr reply yes or no.' : ''}`
  const reply = byWords ? 'an approver replies yes or no here, or ' : ''
  return `This needs an approval: ${reply}trivium approval decide --id ${id} --approve`
}

/** Describes a request: title, requester, skill, and by default all arguments. */
export function describeApproval(approval: Approval, args = fullArguments(approval)): string {
  const { title, by, skill } = approval
  return `${title}\n\nRequested by: ${by}\n\nSkill: ${skill}\n\nArguments:\n\n${args}`
}

/** Maximum characters of shortened arguments. */
const MAX_LENGTH = 2000

/** The beginning of the arguments, with the command that shows all of them. */
export function shortArguments(approval: Approval): string {
  const all = fullArguments(approval)
  const more = all.length - MAX_LENGTH
  if (more <= 0) return all
  return `${all.slice(0, MAX_LENGTH)}…\n(${more} characters more: trivium approval list --id ${approval.id})`
}

/**
 * Invisible characters, characters that change the text direction, and the backtick, which would
 * end a code block.
 */
const DECEPTIVE = /[`\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/**
 * The arguments as JSON with deceptive characters escaped. A dispatched skill gets its message as
 * an argument, of which only the id is shown.
 */
function fullArguments({ args }: Pick<Approval, 'args'>): string {
  const { message } = isJsonObject(args) ? args : {}
  const shown: Json = isJsonObject(message) ? { ...Object(args), message: message.id ?? null } : args
  return escapeUnicode(JSON.stringify(shown, null, 2), DECEPTIVE)
}
