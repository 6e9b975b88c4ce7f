import { isJsonObject, type Json } from '../core/json.ts'
import type { Approval } from '../core/services.ts'
import { escapeUnicode } from '../lib/escape-controls.ts'

/** What shows as nothing, or turns other text around, and the backtick that would end a block of code. */
const UNSEEN = /[`\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** The arguments as JSON in which every character is seen. The message of a dispatched skill is named by its id. */
function argumentsOf({ args }: Pick<Approval, 'args'>): string {
  const { message } = isJsonObject(args) ? args : {}
  const told: Json = isJsonObject(message) ? { ...Object(args), message: message.id ?? null } : args
  return escapeUnicode(JSON.stringify(told, null, 2), UNSEEN)
}

/** What is asked: the title, who asks, which skill, and its arguments, here whole. */
export function describeApproval(approval: Approval, args = argumentsOf(approval)): string {
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
