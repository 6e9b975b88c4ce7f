import type { ModalView } from '@slack/web-api'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Target } from '../conversation.ts'
import { slackFailure } from '../failure.ts'
import { sealMetadata, type ViewPlace } from '../view-metadata.ts'
import type { Workspace } from '../workspaces.ts'
import type { Progress } from './sent-log.ts'

/**
 * Shows a modal to whoever clicked or typed the command (https://docs.slack.dev/surfaces/modals), on top of the modal
 * that the click was in. What is sent back from it goes to the conversation where it was opened. Slack takes the click
 * as a ticket, once and for three seconds: doing it twice opens nothing twice. Throws `send_rejected` where there was no
 * click.
 */
export async function openModal(options: {
  gateway: string
  view: ModalView
  workspace: Workspace
  target: Target
  /** `opening` is set before Slack is asked, `view` when it has answered. */
  progress: Progress
  save(): Promise<void>
}): Promise<void> {
  const { gateway, workspace, target, progress, save } = options
  if (progress.view !== undefined) return
  const { triggerId } = target
  if (triggerId === undefined) {
    const reason = 'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
    throw new TriviumError('send_rejected', { gateway, reason })
  }
  const { user = '' } = target
  const metadata = sealMetadata(options.view.private_metadata, placeOf(target), { gateway, user, workspace })
  const isRepeated = progress.opening === true
  progress.opening = true
  await save()
  const verb = target.inModal ? 'push' : 'open'
  const view = { ...options.view, private_metadata: metadata }
  try {
    const answer = await workspace.api.write(`views.${verb}`, (web) =>
      web.views[verb]({ trigger_id: triggerId, view }),
    )
    progress.view = answer.view?.id ?? ''
  } catch (error) {
    const failure = slackFailure(error)
    const isOpen = isRepeated && failure.kind === 'rejected' && failure.code === 'exchanged_trigger_id'
    if (!isOpen) throw error
    progress.view = ''
  }
  await save()
}

/** What only one person may see is not answered in the channel. */
function placeOf({ channel, thread, responseUrl }: Target): ViewPlace | undefined {
  if (responseUrl !== undefined || /^[UW]/.test(channel)) return undefined
  return { channel, ...(thread === undefined ? {} : { thread }) }
}
