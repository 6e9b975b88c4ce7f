type Part = { name: string; value: string | Buffer; file?: string; type?: string }

/** A multipart form as browsers and curl write it. */
export function multipart(
  parts: Part[],
  boundary = '----WebKitFormBoundaryzWHSJPyjJL8Up7wv',
): Buffer<ArrayBuffer> {
  const pieces = parts.flatMap(({ name, value, file, type }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}\r\n`,
    `${type ? `Content-Type: ${type}\r\n` : ''}\r\n`,
    value,
    '\r\n',
  ])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
}

export const FORM = { 'content-type': 'multipart/form-data; boundary=----WebKitFormBoundaryzWHSJPyjJL8Up7wv' }
export const JPEG = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0x0d, 0x0a, 0x2d, 0x2d, 0x00, 0xff, 0xd9])
