// The Worker's Python files, packed by server.py: the length of a header in 4 bytes (little-endian), the header
// (JSON: {"main": name, "files": [[path, size], …]}), then the contents one after another.

/** Unpacks the files below `root`, read-only, and returns the name of the main module. */
export function mountFiles(FS, packed, root) {
  const length = new DataView(packed).getUint32(0, true);
  const { main, files } = JSON.parse(new TextDecoder().decode(new Uint8Array(packed, 4, length)));
  const folders = new Set([root]);
  let offset = 4 + length;
  for (const [path, size] of files) {
    const file = `${root}/${path}`;
    const folder = file.slice(0, file.lastIndexOf("/"));
    FS.mkdirTree(folder);
    FS.writeFile(file, new Uint8Array(packed, offset, size));
    FS.chmod(file, 0o555);
    for (let at = folder; at !== root; at = at.slice(0, at.lastIndexOf("/"))) folders.add(at);
    offset += size;
  }
  for (const folder of folders) FS.chmod(folder, 0o555);
  return main;
}
