# httr::GET. What it prints: see ../doc.go, "Answers".
suppressPackageStartupMessages(library(httr))

args <- commandArgs(trailingOnly = TRUE)
if (identical(args, "version")) {
  cat(as.character(packageVersion("httr")), "\n")
  quit()
}
for (url in args) {
  cat("url ", url, "\n", sep = "")
  tryCatch({
    r <- GET(url, timeout(30))
    cat("status ", status_code(r), "\nreason ", http_status(r)$reason, "\n", sep = "")
    for (name in names(headers(r))) {
      cat("field ", name, ": ", headers(r)[[name]], "\n", sep = "")
    }
    cat("body ", gsub("\n", "", jsonlite::base64_enc(content(r, "raw"))), "\n", sep = "")
  }, error = function(e) {
    cat("error ", gsub("\\s+", " ", conditionMessage(e)), "\n", sep = "")
  })
  cat("end\n")
}
