import type { ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../src/core/json.ts'
import type { KeyValues } from '../../src/core/store.ts'
import type { Sending } from './outbound/posts.ts'

/** Where a modal was opened. */
const placeSchema = z.object({ channel: z.string(), thread: z.string().exactOptional() })

export type Modals = ReturnType<typeof createModals>

/** For so long a modal may stay open and still belong to where it was opened (ms). */
const KEPT = 7 * 86_400_000

/**
 * Opens modals (https://docs.slack.dev/surfaces/modals), and remembers on the store in which conversation, as Slack does
 * not say: what is sent from one is answered there and sees what was said there.
 */
export function createModals(kv: KeyValues, gateway: string) {
  const nameOf = (view: string) => `slack/${gateway}/modal/${view}`
  return {
    /** Where the modal was opened that an interaction came from; undefined where only one person sees that place. */
    async placeOf(payload: JsonObject) {
      const view = textAt(payload, 'view.id')
      return placeSchema.safeParse(view && (await kv.get(nameOf(view)))?.value).data
    },
    /**
     * Shows a modal to whoever clicked or typed the command, on top of the modal that the click was in. Slack takes the
     * click once and for three seconds: a second try opens nothing twice. Throws `send_rejected` where there was no click.
     */
    async open(view: ModalView, { workspace, target, sent, save }: Sending): Promise<void> {
      if (sent.view !== undefined) return
      const { triggerId, inModal, channel, thread, responseUrl } = target
      if (triggerId === undefined) {
        const reason =
          'a modal can only answer a slash command, a button, a select, a shortcut or another modal'
        throw new TriviumError('send_rejected', { gateway, reason })
      }
      const verb = inModal ? 'push' : 'open'
      const answer = await workspace.api.views[verb]({ trigger_id: triggerId, view })
      sent.view = answer.view?.id ?? ''
      // What only one person may see is not answered in the channel.
      const isPrivate = responseUrl !== undefined || /^[UW]/.test(channel)
      if (!isPrivate)
        await kv.set(nameOf(sent.view), thread ? { channel, thread } : { channel }, { ttl: KEPT })
      await save()
    },
  }
}
