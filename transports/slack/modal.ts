import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { Target } from './conversation.ts'
import { parsed } from './fields.ts'
import type { Sending } from './outbound/sent-log.ts'
import type { Workspace } from './workspaces.ts'

/**
 * Shows a modal to whoever clicked or typed the command (https://docs.slack.dev/surfaces/modals), on top of the modal
 * that the click was in. What is sent back from it goes to the conversation where it was opened. Slack takes the click
 * once and for three seconds: a second try opens nothing twice. Throws `send_rejected` where there was no click.
 */
export async function openModal(given: ModalView, sending: Sending): Promise<void> {
  const { reply, workspace, target, sent, save } = sending
  const { gateway } = reply
  if (sent.view !== undefined) return
  const { triggerId, user = '' } = target
  if (triggerId === undefined) {
    const reason = 'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
    throw new TriviumError('send_rejected', { gateway, reason })
  }
  const private_metadata = sealMetadata(given.private_metadata, placeOf(target), { user, workspace })
  const view = { ...given, private_metadata }
  const verb = target.inModal ? 'push' : 'open'
  const answer = await workspace.api.call(`views.${verb}`, (web) =>
    web.views[verb]({ trigger_id: triggerId, view }),
  )
  sent.view = answer.view?.id ?? ''
  await save()
}

/** What only one person may see is not answered in the channel. */
function placeOf({ channel, thread, responseUrl }: Target): ViewPlace | undefined {
  if (responseUrl !== undefined || /^[UW]/.test(channel)) return undefined
  return { channel, thread }
}

const placeSchema = z.object({ channel: z.string(), thread: z.string().optional() })
const sealedSchema = z.object({ trivium: placeSchema, mac: z.string(), own: z.string().optional() })

/** Where a modal was opened, if not in what only one person sees. */
type ViewPlace = z.infer<typeof placeSchema>

/** Who has the modal open, and the installation that it is of. */
export type Viewer = { user: string; workspace: Pick<Workspace, 'team' | 'token'> }

/**
 * The `private_metadata` of a modal: the skill's own, and where the modal was opened, which Slack does not say. What is
 * sent from it is answered there and sees the conversation there, so the place is sealed for this user with the bot
 * token: a skill could name any. Without a place it is the skill's own alone.
 */
export function sealMetadata(own = '', place: ViewPlace | undefined, viewer: Viewer): string {
  if (place === undefined) return own
  const { channel, thread } = place
  const trivium = { channel, thread }
  return JSON.stringify({ trivium, mac: macOf(trivium, viewer), own: own || undefined })
}

/**
 * What `sealMetadata` made of it: the skill's own text, and the place. No place: none was sealed, or for another user;
 * then all of it is the skill's own.
 */
export function openMetadata(
  text: string | undefined,
  viewer: Viewer,
): {
  own?: string | undefined
  place?: ViewPlace
} {
  const { trivium: place, mac = '', own } = sealedSchema.safeParse(parsed(text ?? '')).data ?? {}
  const [given, expected] = [Buffer.from(mac), Buffer.from(place ? macOf(place, viewer) : '')]
  const isOurs = place && given.length === expected.length && timingSafeEqual(given, expected)
  return isOurs ? { place, own } : { own: text }
}

function macOf({ channel, thread = '' }: ViewPlace, { user, workspace }: Viewer): string {
  const what = JSON.stringify(['modal', workspace.team, user, channel, thread])
  return createHmac('sha256', workspace.token).update(what).digest('base64url')
}
