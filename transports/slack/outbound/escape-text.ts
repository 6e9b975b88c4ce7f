/** Text that Slack shows as it is (https://docs.slack.dev/messaging/formatting-message-text#escaping). */
export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
