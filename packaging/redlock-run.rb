# The Homebrew formula, for a tap of your own.
class RedlockRun < Formula
  desc "Run a command under a lock that spans machines, on a quorum of Redis masters"
  homepage "@home@"
  version "@version@"
  license "MIT"

  on_macos do
    on_arm do
      url "@url@/redlock-run-@version@-darwin-arm64.tar.gz"
      sha256 "@darwin-arm64@"
    end
    on_intel do
      url "@url@/redlock-run-@version@-darwin-x64.tar.gz"
      sha256 "@darwin-x64@"
    end
  end
  on_linux do
    on_arm do
      url "@url@/redlock-run-@version@-linux-arm64.tar.gz"
      sha256 "@linux-arm64@"
    end
    on_intel do
      url "@url@/redlock-run-@version@-linux-x64.tar.gz"
      sha256 "@linux-x64@"
    end
  end

  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    man5.install Dir["share/man/man5/*"]
    bash_completion.install "share/bash-completion/completions/redlockctl"
    bash_completion.install_symlink "redlockctl" => "redlock-run"
    zsh_completion.install "share/zsh/site-functions/_redlockctl"
    fish_completion.install Dir["share/fish/vendor_completions.d/*"]
    doc.install Dir["share/doc/redlock-run/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/redlock-run --version")
    assert_match "none configured", shell_output("#{bin}/redlock-run job -- true 2>&1", 78)
  end
end
