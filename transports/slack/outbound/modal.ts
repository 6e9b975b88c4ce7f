import type { ModalView } from '@slack/web-api'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Target } from '../conversation.ts'
import { slackFailure } from '../failure.ts'
import { sealMetadata, type ViewPlace } from '../view-metadata.ts'
import type { Sending } from './sent-log.ts'

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
