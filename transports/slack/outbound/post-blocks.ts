import type { KnownBlock } from '@slack/web-api'
import { escapeText } from './escape-text.ts'

/** A post: its blocks, and the text for notifications. */
export type Post = { text: string; blocks: KnownBlock[] }

/**
 * Actions of the approval buttons, as stored in the journal. The value of a button is the id of the
 * approval.
 */
export const APPROVAL_ACTIONS: Record<string, string> = {
  'trivium-approve': 'approve',
  'trivium-deny': 'deny',
}

/** Actions of the take-over buttons. The value of a button is the conversation. */
export const HANDOVER_ACTIONS: Record<string, 'take' | 'back'> = {
  'trivium-take-over': 'take',
  'trivium-hand-back': 'back',
}

/** Action of the button that stops an answer in progress. */
export const STOP_ACTION = 'trivium-stop'
export const STOP: KnownBlock = { type: 'actions', elements: [button(STOP_ACTION, 'Stop', 'stop')] }

/** Why a skill's blocks with one of these actions are refused. */
export const RESERVED_ACTION = 'it has an action_id that is reserved for Trivium, such as those of approvals'

/**
 * Whether a skill's blocks contain one of our buttons, which they could show with another title.
 */
export function hasReservedAction(blocks: unknown): boolean {
  const text = JSON.stringify(blocks)
  const reserved = [...Object.keys(APPROVAL_ACTIONS), ...Object.keys(HANDOVER_ACTIONS)]
  return reserved.some((id) => text.includes(JSON.stringify(id)))
}

export function button(action_id: string, label: string, value: string) {
  return { type: 'button' as const, action_id, value, text: { type: 'plain_text' as const, text: label } }
}

export function section(text: string): KnownBlock {
  return { type: 'section', text: { type: 'mrkdwn', text } }
}

/** A mention for a user of this workspace, else the name. */
export function personOf(by: string): string {
  const [, user] = /^[^:]+:(?:external:)?([UW][A-Z0-9]+)$/.exec(by) ?? []
  return user ? `<@${user}>` : escapeText(by)
}
