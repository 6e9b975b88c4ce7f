import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { Target } from './conversation.ts'
import { slackFailure } from './failure.ts'
import { parsed } from './fields.ts'
import type { Sending } from './outbound/sent-log.ts'
import type { Workspace } from './workspaces.ts'

/**
 * Shows a modal to whoever clicked or typed the command (https://docs.slack.dev/surfaces/modals), on top of the modal
 * that the click was in. What is sent back from it goes to the conversation where it was opened. Slack takes the click
 * as a ticket, once and for three seconds: doing it twice opens nothing twice. Throws `send_rejected` where there was no
 * click.
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
  const metadata = sealMetadata(given.private_metadata, placeOf(target), { gateway, user, workspace })
  const view = { ...given, private_metadata: metadata }
  const isRepeated = sent.opening === true
  sent.opening = true
  await save()
  const verb = target.inModal ? 'push' : 'open'
  try {
    const answer = await workspace.api.call(`views.${verb}`, (web) =>
      web.views[verb]({ trigger_id: triggerId, view }),
    )
    sent.view = answer.view?.id ?? ''
  } catch (error) {
    if (!isRepeated || slackFailure(error).code !== 'exchanged_trigger_id') throw error
    sent.view = ''
  }
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
export type ViewPlace = z.infer<typeof placeSchema>

/** Who has the modal open, and the installation that it is of. */
export type Viewer = { user: string; workspace: Pick<Workspace, 'team' | 'token'> }

/**
 * The `private_metadata` of a modal: the skill's own, and where the modal was opened, which Slack does not say. What is
 * sent from the modal is answered there and sees the conversation there, so the place is sealed for this user with the
 * bot token: a skill could name any. Without a place it is the skill's own alone. Throws `send_rejected` where that is
 * no text.
 */
export function sealMetadata(
  own: unknown,
  place: ViewPlace | undefined,
  { gateway, ...viewer }: Viewer & { gateway: string },
): string {
  if (own !== undefined && typeof own !== 'string') {
    throw new TriviumError('send_rejected', { gateway, reason: 'private_metadata of the view is no text' })
  }
  return place === undefined ? (own ?? '') : sealed(own, place, viewer)
}

/**
 * What `sealMetadata` made of it: the skill's own text, and the place. No place: none was sealed, or for another user;
 * then all of it is the skill's own.
 */
export function openMetadata(
  text: string | undefined,
  viewer: Viewer,
): { own?: string | undefined; place?: ViewPlace } {
  const found = sealedSchema.safeParse(parsed(text ?? '')).data
  if (!found) return { own: text }
  const [given, expected] = [Buffer.from(found.mac), Buffer.from(macOf(found.trivium, viewer))]
  const isOurs = given.length === expected.length && timingSafeEqual(given, expected)
  return isOurs ? { place: found.trivium, own: found.own } : { own: text }
}

function sealed(own: string | undefined, { channel, thread }: ViewPlace, viewer: Viewer): string {
  const place = { channel, thread }
  return JSON.stringify({ trivium: place, mac: macOf(place, viewer), own: own || undefined })
}

function macOf({ channel, thread = '' }: ViewPlace, { user, workspace }: Viewer): string {
  const what = JSON.stringify(['modal', workspace.team, user, channel, thread])
  return createHmac('sha256', workspace.token).update(what).digest('base64url')
}
